"""The style sheet of diagrams: once in the site's, or inside a diagram that is a file of its own."""

from __future__ import annotations

_FAMILIES = {
    "norm": ("#8a6d00", "#fbf3d5", "#d9b93b", "#332b12"),
    "attention": ("#1f5fa8", "#e3eefb", "#74adeb", "#15273d"),
    "feed-forward": ("#1d7a4f", "#e0f3e8", "#66c596", "#122c20"),
    "routing": ("#a3461c", "#fbe7dc", "#ee9466", "#381d10"),
    "embedding": ("#6b4ba3", "#eee7f9", "#b198e6", "#261d3b"),
    "residual": ("#3d4450", "#e9ebef", "#b9c0cc", "#292d34"),
    "state": ("#a02c66", "#fae3ee", "#ea83b4", "#381526"),
}
"""Line and ground of each family, in light and in dark."""


def _properties(*, dark: bool) -> str:
    line, ground = (2, 3) if dark else (0, 1)
    own = "".join(
        f"--d-{name}:{colours[line]};--d-{name}-ground:{colours[ground]};" for name, colours in _FAMILIES.items()
    )
    plain = (
        "--d-paper:#16171a;--d-box:#202328;--d-line:#7f858f;--d-edge:#8d939d;--d-ink:#e6e3dc;--d-soft:#a9a59c;"
        if dark
        else "--d-paper:#fcfbf8;--d-box:#fff;--d-line:#a8a397;--d-edge:#7d786e;--d-ink:#1f1d1a;--d-soft:#625d54;"
    )
    return plain + own


_FAMILY_RULES = "".join(
    f".diagram .family-{name}{{--d-own:var(--d-{name});--d-ground:var(--d-{name}-ground)}}" for name in _FAMILIES
)

STYLE = (
    f".diagram{{{_properties(dark=False)}"
    '--d-sans:"Helvetica Neue",Helvetica,Arial,"Liberation Sans","Nimbus Sans",sans-serif;'
    '--d-mono:ui-monospace,"SF Mono",Menlo,Consolas,"DejaVu Sans Mono",monospace}'
    f"@media (prefers-color-scheme:dark){{.diagram{{{_properties(dark=True)}}}}}"
    f"{_FAMILY_RULES}"
    ".diagram text{font-family:var(--d-sans);fill:var(--d-ink);white-space:pre}"
    ".diagram .paper,.diagram .ground{fill:var(--d-paper)}"
    ".diagram .frame{fill:var(--d-ground,var(--d-box));stroke:var(--d-own,var(--d-line));stroke-width:1.25}"
    ".diagram .behind{fill:var(--d-ground,var(--d-box));stroke:var(--d-own,var(--d-line));stroke-width:1;opacity:.6}"
    ".diagram .node .title{font-weight:600}"
    ".diagram .role-addition .title,.diagram .role-step .title,.diagram .role-input .title,.diagram .role-output .title"
    "{font-weight:400}"
    ".diagram .role-input .frame,.diagram .role-output .frame{fill:var(--d-paper);stroke-dasharray:3 3}"
    ".diagram .role-step .frame{fill:var(--d-paper);stroke-width:1}"
    ".diagram .is-branch .frame{stroke-dasharray:6 3}"
    ".diagram .idle .frame{fill:var(--d-paper)}"
    ".diagram .plus{stroke:var(--d-own,var(--d-ink));stroke-width:1.6;fill:none}"
    ".diagram .shape,.diagram .note,.diagram .label{fill:var(--d-soft)}"
    ".diagram .code{font-family:var(--d-mono)}"
    ".diagram .math{font-style:italic}"
    ".diagram .badge{fill:var(--d-own,var(--d-soft));font-weight:600}"
    ".diagram .badge-frame{fill:var(--d-paper);stroke:var(--d-own,var(--d-line));stroke-width:1}"
    ".diagram .opener path{fill:none;stroke:var(--d-own,var(--d-soft));stroke-width:1.5}"
    ".diagram .line{fill:none;stroke:var(--d-edge);stroke-width:1.25}"
    ".diagram .hit{fill:none;stroke:none;stroke-width:10;pointer-events:stroke}"
    ".diagram .kind-residual .line{stroke:var(--d-residual);stroke-width:3}"
    ".diagram .kind-state .line{stroke:var(--d-state);stroke-dasharray:5 3}"
    ".diagram .head path,.diagram .joint{fill:var(--d-edge)}"
    ".diagram .head.kind-residual path,.diagram .joint.kind-residual{fill:var(--d-residual)}"
    ".diagram .head.kind-state path,.diagram .joint.kind-state{fill:var(--d-state)}"
    ".diagram .plumbing-sign rect{fill:var(--d-paper);stroke:var(--d-edge);stroke-width:1}"
    ".diagram .plumbing-sign circle{fill:var(--d-edge)}"
    ".diagram .plumbing-sign path{stroke:var(--d-edge);stroke-width:1.25}"
    ".diagram .opened:not(.open),.diagram .edge:not(.open) .closer,.diagram .edge.open .closed{display:none}"
    ".diagram a{text-decoration:none}"
    ".diagram .selected .frame{stroke-width:2.5}"
    ".diagram .node:target .frame,.diagram .edge:target .line{stroke:var(--d-target,#c98a00);stroke-width:3}"
)
