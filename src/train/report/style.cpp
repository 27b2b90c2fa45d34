#include "train/report/style.h"

namespace bnns::train::impl {

// Two hues carry meaning: blue for training and right answers, orange for validation and mistakes.
// All distances are multiples of 4 px; text is 15 px, with two sizes above it and one below.
const std::string_view kStyle = R"css(
:root {
  color-scheme: light dark;
  --page: #f5f6f8; --card: #ffffff; --ink: #18212c; --soft: #55606e; --line: #dfe3e8;
  --fill: #eef1f4;
  --blue: #2059d6; --orange: #b9500a; --green: #14733a; --red: #b3201f;
  --heat: 32 89 214; --heat-wrong: 214 96 16; --on-heat: #ffffff;
}
@media (prefers-color-scheme: dark) {
  :root {
    --page: #0e1217; --card: #161c24; --ink: #e4e9ef; --soft: #9ba7b5; --line: #2a333e;
    --fill: #1f2730;
    --blue: #77aaff; --orange: #f3a55c; --green: #56d187; --red: #ff8580;
    --heat: 98 151 245; --heat-wrong: 240 150 70; --on-heat: #0e1217;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; text-size-adjust: 100%; }
body {
  margin: 0; background: var(--page); color: var(--ink);
  font: 15px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, "Noto Sans", "DejaVu Sans",
    sans-serif;
  font-variant-numeric: tabular-nums;
}
header, main, footer { max-width: 1120px; margin: 0 auto; padding: 0 16px; }
header { padding-top: 32px; padding-bottom: 20px; }
footer { padding-top: 8px; padding-bottom: 32px; color: var(--soft); font-size: 13px; }
h1 { margin: 0; font-size: 26px; line-height: 1.25; overflow-wrap: anywhere; }
h2 { margin: 0 0 12px; font-size: 17px; line-height: 1.3; }
h3 { margin: 20px 0 8px; font-size: 15px; }
p { margin: 0 0 12px; }
.lead { display: flex; flex-wrap: wrap; gap: 4px 16px; margin: 8px 0 0; color: var(--soft); }
.state { font-weight: 600; white-space: nowrap; }
.state::before {
  content: ""; display: inline-block; width: 9px; height: 9px; margin-right: 7px;
  border-radius: 50%; background: currentColor;
}
.state.finished { color: var(--green); }
.state.running { color: var(--blue); }
.state.stopped { color: var(--orange); }
.state.diverged { color: var(--red); }
.note { margin: 16px 0 0; padding: 8px 12px; border-left: 3px solid var(--orange);
  background: var(--card); overflow-wrap: anywhere; }
.note.diverged { border-color: var(--red); }
progress { display: block; width: 100%; height: 6px; margin-top: 16px; appearance: none;
  border: 0; border-radius: 3px; overflow: hidden; background: var(--line); }
progress + p { margin: 6px 0 0; }
progress::-webkit-progress-bar { background: var(--line); }
progress::-webkit-progress-value { background: var(--blue); }
progress::-moz-progress-bar { background: var(--blue); }

main { display: grid; grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 16px; }
.card { min-width: 0; padding: 20px; background: var(--card); border: 1px solid var(--line);
  border-radius: 10px; }
.wide { grid-column: 1 / -1; }

.figures { grid-column: 1 / -1; display: grid; gap: 20px 24px; margin: 0; padding: 20px;
  grid-template-columns: repeat(4, minmax(0, 1fr)); background: var(--card);
  border: 1px solid var(--line); border-radius: 10px; }
.figures div { display: flex; flex-direction: column-reverse; justify-content: flex-end; }
.figures dt { color: var(--soft); font-size: 13px; overflow-wrap: anywhere; }
.figures dd { margin: 0; font-size: 24px; font-weight: 600; line-height: 1.3;
  overflow-wrap: anywhere; }
.figures .first dd { color: var(--blue); }

.charts { display: grid; gap: 24px;
  grid-template-columns: repeat(auto-fit, minmax(min(100%, 300px), 1fr)); }
figure { margin: 0; min-width: 0; }
.facts + figure { margin-top: 20px; }
figcaption { display: flex; flex-wrap: wrap; gap: 0 16px; margin-bottom: 4px; color: var(--soft); }
figcaption strong { flex-basis: 100%; color: var(--ink); font-weight: 600; }
figcaption b { color: var(--ink); font-weight: 600; }
.key::before { content: ""; display: inline-block; width: 14px; height: 3px; margin-right: 6px;
  border-radius: 2px; vertical-align: middle; background: var(--blue); }
.key.s1::before { background: var(--orange); }
svg { display: block; width: 100%; height: auto; }
svg text { fill: var(--soft); font-size: 11px; }
svg .grid { stroke: var(--line); stroke-width: 1; }
svg .curve { fill: none; stroke-width: 2; stroke-linejoin: round; stroke-linecap: round; }
svg .curve.s0, svg .ring.s0 { stroke: var(--blue); }
svg .curve.s1, svg .ring.s1 { stroke: var(--orange); }
svg .dot.s0 { fill: var(--blue); }
svg .dot.s1 { fill: var(--orange); }
svg .ring { fill: var(--card); stroke-width: 2; }
svg .point { fill: var(--blue); fill-opacity: 0.55; }
svg .equal { stroke: var(--soft); stroke-dasharray: 4 4; }
svg .column rect { fill: transparent; }
svg .column .seen { visibility: hidden; pointer-events: none; }
svg .column:hover .seen { visibility: visible; }
svg .cross { stroke: var(--soft); stroke-width: 1; }
svg .figures { fill: var(--ink); }

.scroll { position: relative; overflow: auto; }
.tall { max-height: 460px; }
.scroll:focus-visible { outline: 2px solid var(--blue); outline-offset: 2px; }
table { width: 100%; border-collapse: collapse; }
th, td { padding: 5px 0 5px 14px; border-top: 1px solid var(--line); text-align: left;
  font-weight: 400; vertical-align: baseline; }
th:first-child, td:first-child { padding-left: 0; }
thead th { border-top: 0; color: var(--soft); font-size: 13px; white-space: nowrap; }
tfoot th, tfoot td { border-top: 2px solid var(--line); font-weight: 600; }
th.n, td.n { text-align: right; white-space: nowrap; }
tbody th { min-width: 96px; overflow-wrap: anywhere; }
th.n { min-width: 0; }
tr.best th, tr.best td { background: var(--fill); }
.unseen { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%);
  white-space: nowrap; }
.soft { color: var(--soft); }
.small { color: var(--soft); font-size: 13px; }
.bar { display: flex; min-width: 72px; height: 8px; border-radius: 2px; overflow: hidden;
  background: var(--fill); }
.bar i { display: block; background: var(--blue); }
.bar i + i { background: var(--orange); }

.matrix table { border-collapse: separate; border-spacing: 2px; font-size: 13px; }
.matrix th, .matrix td { padding: 0; border: 0; vertical-align: middle; }
.matrix thead th { min-width: 26px; text-align: center; }
.matrix tbody th { width: 1px; min-width: 0; padding-right: 6px; text-align: right; color:
  var(--soft); white-space: nowrap; }
.matrix tbody th bdi { display: inline-block; max-width: 128px; overflow: hidden;
  text-overflow: ellipsis; vertical-align: bottom; }
.matrix td { min-width: 26px; height: 30px; padding: 0 3px; border-radius: 3px;
  text-align: center; background: var(--fill); }
.matrix td.none { background: none; }
.matrix td.r { background: rgb(var(--heat) / var(--a)); }
.matrix td.w { background: rgb(var(--heat-wrong) / var(--a)); }
.matrix td.strong { color: var(--on-heat); }
.heat rect { fill: var(--fill); }
.heat .r { fill: rgb(var(--heat)); }
.heat .w { fill: rgb(var(--heat-wrong)); }

.pictures { display: grid; gap: 12px; margin: 0; padding: 0; list-style: none;
  grid-template-columns: repeat(auto-fill, minmax(88px, 1fr)); }
.pictures li { min-width: 0; font-size: 13px; line-height: 1.35; overflow-wrap: anywhere; }
.pictures img, .filters img { display: block; image-rendering: pixelated; background: var(--fill);
  border-radius: 4px; }
.pictures img { width: 100%; height: auto; aspect-ratio: 1; object-fit: contain; margin-bottom:
  4px; }
.right { color: var(--green); }
.wrong { color: var(--red); }
.filters { display: flex; flex-wrap: wrap; gap: 8px; }
.filters img { height: 44px; border-radius: 2px; }

dl.facts { display: grid; grid-template-columns: max-content minmax(0, 1fr); gap: 4px 20px;
  margin: 0; }
dl.facts dt { color: var(--soft); }
dl.facts dd { margin: 0; overflow-wrap: anywhere; }
code { font: 13px/1.5 ui-monospace, "Cascadia Mono", Menlo, Consolas, "DejaVu Sans Mono",
  monospace; }
summary { cursor: pointer; color: var(--soft); }
details[open] summary { margin-bottom: 8px; }

@media (min-width: 861px) {
  .pair svg text, #regression svg text { font-size: 9.5px; }
}
@media (max-width: 860px) {
  main { grid-template-columns: minmax(0, 1fr); }
}
@media (max-width: 480px) {
  header { padding-top: 20px; }
  h1 { font-size: 22px; }
  header, main, footer { padding-left: 12px; padding-right: 12px; }
  main { gap: 12px; }
  .card { padding: 16px 12px; }
  .figures { grid-template-columns: repeat(2, minmax(0, 1fr)); gap: 14px 12px;
    padding: 16px 12px; }
  .figures dd { font-size: 20px; }
  th, td { padding-left: 6px; }
  tbody th { min-width: 72px; }
  table { font-size: 13px; }
  .matrix table { border-spacing: 1px; font-size: 11px; }
  .matrix thead th, .matrix td { min-width: 21px; padding: 0 1px; }
  .matrix tbody th { padding-right: 4px; }
  .matrix tbody th bdi { max-width: 52px; }
  dl.facts { grid-template-columns: minmax(0, 1fr); gap: 0; }
  dl.facts dd { margin-bottom: 8px; }
}
@media print {
  :root {
    color-scheme: light;
    --page: #ffffff; --card: #ffffff; --ink: #000000; --soft: #444444; --line: #cccccc;
    --fill: #f0f0f0;
    --blue: #2059d6; --orange: #b9500a; --green: #14733a; --red: #b3201f;
    --heat: 32 89 214; --heat-wrong: 214 96 16; --on-heat: #ffffff;
  }
  * { print-color-adjust: exact; -webkit-print-color-adjust: exact; }
  body { font-size: 11px; }
  .card, figure, tr, .pictures li { break-inside: avoid; }
  #epochs, #network { break-inside: auto; }
  .scroll { overflow: visible; max-height: none; }
}
)css";

}  // namespace bnns::train::impl
