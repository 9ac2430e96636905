"""Starts the worker: `python -m services`. `--help` lists every setting."""

import sys

from services.settings import BadSettings, load, strangers, table

USAGE = "usage: python -m services        serves the agent; everything is set by the environment\n"


def settings_text() -> str:
    rows = table()
    width = max(len(name) for name, _, _ in rows)
    return USAGE + "\n" + "\n".join(f"  {name:<{width}}  {sentence} [{default}]" for name, default, sentence in rows)


def main(arguments: list[str]) -> int:
    if arguments in (["--help"], ["-h"]):
        print(settings_text())
        return 0
    if arguments:
        print(
            f"python -m services takes no arguments, {arguments[0]!r} was given; --help lists the settings.",
            file=sys.stderr,
        )
        return 2
    import structlog

    from services import log, metrics, serve, traces
    from services.app import application, outside
    from services.busy import Busy
    from services.retention import faults
    from services.version import code_version
    from services.watch import Watch
    from tools.tool import BadDeclaration

    try:
        settings = load()
        log.configure(settings.log_level)
        for sentence in strangers():
            structlog.get_logger("pawl.settings").warning("unknown setting", why=sentence)
        busy = Busy()
        spans = traces.started(settings.otel)
        watch = Watch(metrics.started(settings.metrics, busy), spans)
        shared = outside(settings, busy, watch=watch)
        if wrong := faults(shared.tools.values(), shared.caps, settings.retention_s):
            raise BadSettings(wrong[0])
        code = code_version(shared.tools.values())

        async def meanwhile() -> None:
            if settings.webhook_url is not None:
                from services.lookout import keep_looking

                await keep_looking(settings.ingress, settings.stuck_s)

        last = spans.flush if spans is not None else serve.nothing
        made = application(shared, settings, code)
        return serve.run(made, settings.listen, settings.shutdown_s, busy, shared.open, meanwhile, last)
    except (BadSettings, BadDeclaration, serve.PortTaken, metrics.PortTaken, traces.NoPackages) as error:
        print(f"pawl: {error}", file=sys.stderr)
        return 2


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
