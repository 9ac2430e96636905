"""How the report looks: one sheet of style, and the few pieces of HTML that every part of the page uses. Pure.

Rule: whatever colour says, a word says as well. Text from outside is escaped here and nowhere else.
"""

from collections.abc import Iterable, Sequence
from html import escape

from lab.cells import Verdict

COLOURS = {
    Verdict.ONCE: ("#e3f3e6", "#14532d"),
    Verdict.NONE: ("#edf1f5", "#334155"),
    Verdict.UNKNOWN: ("#fdf0d0", "#6b4300"),
    Verdict.DUPLICATED: ("#fbdedb", "#8c1d18"),
    Verdict.LOST: ("#f0def5", "#5b1a6e"),
    Verdict.INVALID: ("#ffffff", "#444444"),
}
"""Background and text of a verdict; every pair has a contrast of at least 6 to 1."""

_PILLS = "\n".join(f".v-{verdict.value}{{background:{back};color:{text}}}" for verdict, (back, text) in COLOURS.items())

SHEET = f"""
:root{{color-scheme:light;--ink:#1b1f24;--soft:#56606b;--line:#d8dde3;--paper:#fff;--wash:#f6f7f9;--link:#0b4f9e}}
*{{box-sizing:border-box}}
body{{margin:0;background:var(--paper);color:var(--ink);font:16px/1.5 system-ui,-apple-system,"Segoe UI",sans-serif}}
main{{max-width:1180px;margin:0 auto;padding:24px 20px 80px}}
h1{{font-size:1.7rem;line-height:1.2;margin:.4em 0 .2em}}
h2{{font-size:1.25rem;margin:2.4em 0 .3em;padding-top:.6em;border-top:1px solid var(--line)}}
h3{{font-size:1rem;margin:1.8em 0 .3em}}
p{{max-width:46em;margin:.4em 0 .8em}}
.soft{{color:var(--soft)}}
a{{color:var(--link)}}
nav ul{{list-style:none;display:flex;flex-wrap:wrap;gap:.3em 1.2em;padding:0;margin:.8em 0}}
.figures{{display:flex;flex-wrap:wrap;gap:12px;margin:1em 0;padding:0}}
.figures div{{flex:1 1 150px;border:1px solid var(--line);border-radius:6px;padding:10px 14px;background:var(--wash)}}
.figures dt{{color:var(--soft);font-size:.85rem}}
.figures dd{{margin:0;font-size:1.35rem;font-variant-numeric:tabular-nums}}
.scroll{{overflow-x:auto;margin:.8em 0;border:1px solid var(--line);border-radius:6px}}
.scroll:focus-visible,a:focus-visible,summary:focus-visible{{outline:3px solid #2563eb;outline-offset:2px}}
table{{border-collapse:collapse;width:100%;font-size:.9rem;font-variant-numeric:tabular-nums}}
caption{{text-align:left;padding:8px 12px;color:var(--soft)}}
th,td{{padding:6px 12px;text-align:left;border-top:1px solid var(--line);vertical-align:top}}
thead th{{background:var(--wash);border-top:0;font-weight:600;min-width:5.2em;max-width:12em;vertical-align:bottom}}
tbody th{{font-weight:500;white-space:nowrap;position:sticky;left:0;background:var(--paper)}}
tbody th b{{font-weight:600}}
tbody th small{{color:var(--soft);font-weight:400;white-space:normal}}
td.n{{text-align:right}}
th.n{{text-align:right}}
.pill{{display:inline-block;padding:1px 9px;border-radius:10px;white-space:nowrap;font-size:.85rem;font-weight:600;
 text-decoration:none;border:1px solid transparent}}
a.pill:hover{{border-color:currentColor}}
.pill.wrong{{border:2px solid #8c1d18}}
.v-invalid{{border:1px dashed #666}}
.verdicts{{padding:0;list-style:none;display:flex;flex-wrap:wrap;gap:.4em 1.4em;margin:.6em 0}}
.bad{{border-left:4px solid #8c1d18;background:#fdf3f2;padding:8px 16px;margin:1em 0}}
.good{{border-left:4px solid #2f7d46;background:#f1f8f3;padding:8px 16px;margin:1em 0}}
.timeline{{display:none}}
.timeline:target,.timelines:not(:has(.timeline:target)) .timeline.first{{display:block}}
svg{{display:block;background:#fff}}
svg text{{font:12px system-ui,-apple-system,"Segoe UI",sans-serif;fill:var(--ink)}}
summary{{cursor:pointer;color:var(--link);padding:4px 0}}
ol.story{{font-size:.9rem;padding-left:2.4em;max-width:60em}}
ol.story li{{padding:1px 0;overflow-wrap:anywhere}}
code{{font:13px ui-monospace,SFMono-Regular,Menlo,monospace;background:var(--wash);padding:1px 4px;border-radius:3px;
 overflow-wrap:anywhere}}
@media (max-width:640px){{main{{padding:12px 12px 60px}}h1{{font-size:1.4rem}}th,td{{padding:5px 8px}}
 tbody th{{white-space:normal;min-width:8.5em}}thead th{{min-width:4.6em}}}}
@media print{{.timeline{{display:none!important}}.scroll{{overflow:visible}}}}
{_PILLS}
"""


def text(value: object) -> str:
    """Anything as text that is safe between tags and in an attribute; a dash for nothing."""
    return escape("-" if value is None else str(value))


def pill(verdict: str, *, right: bool = True, link: str = "", note: str = "") -> str:
    """A verdict's word on its colour. One that is not as promised is ringed, and says so."""
    known = verdict if verdict in {each.value for each in Verdict} else Verdict.INVALID.value
    css = f"pill v-{known}" + ("" if right else " wrong")
    words = text(verdict + ("" if right else ", not as promised") + note)
    if link:
        return f'<a class="{css}" href="#{text(link)}">{words}</a>'
    return f'<span class="{css}">{words}</span>'


Column = tuple[str, bool]
"""Its head, and whether it holds numbers."""


def table(label: str, columns: Sequence[Column], rows: Iterable[Sequence[str]]) -> str:
    """A table that scrolls sideways where it is too wide. The cells are HTML already; the first one heads its row."""
    heads = "".join(f'<th scope="col"{" class=n" if number else ""}>{text(head)}</th>' for head, number in columns)
    lines = []
    for row in rows:
        first = f'<th scope="row">{row[0]}</th>'
        rest = zip(row[1:], columns[1:], strict=True)
        cells = "".join(f"<td{' class=n' if number else ''}>{cell}</td>" for cell, (_, number) in rest)
        lines.append(f"<tr>{first}{cells}</tr>")
    return (
        f'<div class="scroll" role="region" tabindex="0" aria-label="{text(label)}"><table>'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
    )


def figures(pairs: Iterable[tuple[str, object]]) -> str:
    """A row of numbers with their names."""
    return (
        '<dl class="figures">'
        + "".join(f"<div><dt>{text(name)}</dt><dd>{text(value)}</dd></div>" for name, value in pairs)
        + "</dl>"
    )
