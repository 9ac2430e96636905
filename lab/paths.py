"""Where things are: the repository's root, and the folder for whatever the lab leaves on disk."""

from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SCRATCH = ROOT / ".pawl"  # the default; the commands take another folder with --dir
RESTATE_TOML = ROOT / "restate.toml"
PACKAGE_JSON = ROOT / "package.json"


def shown(path: Path | str) -> str:
    """A path as a person wants to read it: from where they are, if it is below."""
    path = Path(path)
    return str(path.relative_to(Path.cwd())) if path.is_relative_to(Path.cwd()) else str(path)
