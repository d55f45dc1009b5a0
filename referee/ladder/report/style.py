"""The look of the report, in every page as it stands here: light and dark, narrow and wide, on paper. No markup."""

CSS = """
:root { color-scheme: light dark; --ink: #1d2126; --soft: #5c6670; --page: #fff; --line: #d5dae0; --band: #f4f6f8;
  --link: #0b5cad; --mark: #0b6e99; --bad: #a3260f; --high: 38 110 190; --low: 196 92 20; }
@media (prefers-color-scheme: dark) { :root { --ink: #e4e7ea; --soft: #9aa5b0; --page: #14171a; --line: #343b43;
  --band: #1c2126; --link: #7db8f5; --mark: #5cc1e6; --bad: #ff9a85; --high: 60 130 215; --low: 205 105 35; } }
* { box-sizing: border-box; }
body { margin: 0 auto; padding: 1rem 1.2rem 3rem; max-width: 70rem; background: var(--page); color: var(--ink);
  font: 16px/1.5 system-ui, sans-serif; }
h1 { font-size: 1.7rem; line-height: 1.2; margin: .6rem 0; overflow-wrap: anywhere; }
h2 { font-size: 1.3rem; margin: 2.2rem 0 .4rem; padding-top: .5rem; border-top: 1px solid var(--line);
  overflow-wrap: anywhere; }
h3 { font-size: 1.05rem; margin: 1.6rem 0 .3rem; }
p { margin: .4rem 0; max-width: 46rem; }
a { color: var(--link); }
nav { font-size: .92rem; }
small, .soft { color: var(--soft); font-size: .88rem; }
.bad { color: var(--bad); }
.wide { overflow-x: auto; margin: .6rem 0 1rem; }
.wide:focus-visible { outline: 2px solid var(--link); }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .92rem; }
caption { text-align: left; white-space: nowrap; color: var(--soft); padding: .2rem 0; font-size: .88rem; }
th, td { padding: .22rem .6rem; text-align: right; border-bottom: 1px solid var(--line); white-space: nowrap;
  font-weight: normal; }
thead th { color: var(--soft); border-bottom: 2px solid var(--line); vertical-align: bottom; }
.w { text-align: left; }
td.w, th.w { max-width: 20rem; overflow: hidden; text-overflow: ellipsis; }
tbody tr:hover { background: var(--band); }
.cross td { padding: .22rem .45rem; text-align: center; min-width: 2.9rem; font-size: .85rem; }
.cross thead th { text-align: center; }
.cross thead th.w { text-align: left; }
.cross tbody th { position: sticky; left: 0; background: var(--page); max-width: 12rem; overflow: hidden;
  text-overflow: ellipsis; }
.cross td small { display: block; line-height: 1.1; color: inherit; opacity: .75; }
.none { color: var(--soft); }
svg { display: block; width: 100%; min-width: 34rem; max-width: 46rem; height: auto; font: 12px system-ui, sans-serif; }
svg text { fill: var(--ink); }
svg .axis { fill: var(--soft); }
svg .end { text-anchor: end; }
svg .middle { text-anchor: middle; }
svg .grid { stroke: var(--line); }
svg .zero { stroke: var(--soft); }
svg .bar { stroke: var(--mark); stroke-width: 1.6; }
svg .dot { fill: var(--mark); }
svg .curve { fill: none; stroke: var(--mark); stroke-width: 1.8; stroke-linejoin: round; }
svg .bound { stroke: var(--bad); stroke-dasharray: 5 4; }
pre { background: var(--band); padding: .6rem .8rem; overflow-x: auto; font-size: .84rem; line-height: 1.35;
  max-height: 30rem; }
dl { display: grid; grid-template-columns: max-content auto; gap: .1rem 1rem; margin: .6rem 0; }
dt { color: var(--soft); }
dd { margin: 0; overflow-wrap: anywhere; }
@media (max-width: 40rem) { body { padding: .5rem .7rem 2rem; } th, td { padding: .2rem .4rem; } }
@media print { :root { --ink: #000; --page: #fff; --soft: #444; --line: #bbb; --band: #fff; --link: #000; --mark: #000;
  --bad: #000; } body { max-width: none; font-size: 11pt; } nav { display: none; } .wide { overflow: visible; }
  tr, svg { break-inside: avoid; } thead { display: table-header-group; } }
"""
