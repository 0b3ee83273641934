"""How pages look: on screens light and dark, on phones, and on paper."""

STYLE = """\
:root {
  color-scheme: light dark;
  --paper: #ffffff; --ink: #1b1d21; --muted: #5d626b; --line: #d8dbe0; --tint: #f4f5f7;
  --link: #00598c; --good: #12694b; --caution: #8a5a00; --bad: #a8201a;
  --series-1: #0072b2; --series-2: #d55e00; --series-3: #00805d; --series-4: #b0558a;
  --series-5: #9a6a00; --series-6: #2f8fca; --series-7: #5b4bb5; --series-8: #6b6e75;
}
@media (prefers-color-scheme: dark) {
  :root {
    --paper: #15171b; --ink: #e6e7ea; --muted: #a2a7b0; --line: #383c44; --tint: #1e2126;
    --link: #7cc4f2; --good: #66d0a5; --caution: #f0c05a; --bad: #ff9389;
    --series-1: #5bb8f0; --series-2: #ff9a4d; --series-3: #4fd0a8; --series-4: #e79cc6;
    --series-5: #e8bd4a; --series-6: #9ad0f5; --series-7: #b0a4f5; --series-8: #a2a7b0;
  }
}
* { box-sizing: border-box; }
html { -webkit-text-size-adjust: 100%; }
body {
  margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.55 system-ui, -apple-system, "Segoe UI", Roboto, "Helvetica Neue", Arial, sans-serif;
}
main { max-width: 54rem; margin: 0 auto; padding: 2.5rem 1.25rem 4rem; }
h1 { font-size: 1.9rem; line-height: 1.2; margin: 0 0 1.5rem; letter-spacing: -0.01em; }
h2 { font-size: 1.3rem; line-height: 1.3; margin: 3rem 0 0.75rem; padding-top: 0.9rem;
     border-top: 1px solid var(--line); }
h3 { font-size: 1.05rem; margin: 2rem 0 0.5rem; }
p, ul { margin: 0 0 0.9rem; max-width: 42rem; }
ul { padding-left: 1.2rem; }
li { margin-bottom: 0.35rem; }
a { color: var(--link); }
code, pre { font-family: ui-monospace, SFMono-Regular, Menlo, Consolas, "Liberation Mono",
            monospace; font-size: 0.86em; }
code { overflow-wrap: anywhere; }
pre { background: var(--tint); border: 1px solid var(--line); border-radius: 6px; padding: 1rem;
      overflow-x: auto; line-height: 1.45; }
pre code { font-size: inherit; overflow-wrap: normal; }
.about { color: var(--muted); margin: 0 0 0.4rem; }
.small { font-size: 0.875rem; color: var(--muted); }
.good { color: var(--good); }
.bad { color: var(--bad); font-weight: 600; }
.notice { border: 1px solid var(--line); border-left: 6px solid var(--muted); border-radius: 6px;
          background: var(--tint); color: var(--ink); padding: 1rem 1.25rem 0.4rem;
          margin: 0 0 1.75rem; font-weight: 400; }
.notice.good { border-left-color: var(--good); }
.notice.caution { border-left-color: var(--caution); }
.notice.bad { border-left-color: var(--bad); }
.decision { font-size: 1.3rem; font-weight: 650; margin-bottom: 0.3rem; }
.notice.good .decision { color: var(--good); }
.notice.caution .decision { color: var(--caution); }
.notice.bad .decision { color: var(--bad); }
nav ol { list-style: none; display: flex; flex-wrap: wrap; gap: 0.3rem 1.1rem; padding: 0;
         margin: 1.75rem 0 0; font-size: 0.92rem; }
nav li { margin: 0; }
dl { display: grid; grid-template-columns: repeat(auto-fill, minmax(11rem, 1fr));
     gap: 0.9rem 1.5rem; margin: 0 0 1rem; }
dl div { min-width: 0; }
dt { font-size: 0.82rem; color: var(--muted); }
dd { margin: 0; overflow-wrap: anywhere; font-variant-numeric: tabular-nums; }
.wide { overflow-x: auto; margin: 0 0 1.25rem; }
table { border-collapse: collapse; width: 100%; font-size: 0.92rem;
        font-variant-numeric: tabular-nums; }
caption { text-align: left; font-size: 0.875rem; color: var(--muted); padding-bottom: 0.4rem; }
th, td { text-align: left; vertical-align: top; padding: 0.4rem 1rem 0.4rem 0;
         border-bottom: 1px solid var(--line); font-weight: 400; }
thead th { font-size: 0.82rem; color: var(--muted); border-bottom: 2px solid var(--line);
           vertical-align: bottom; }
th.number, td.number { text-align: right; white-space: nowrap; }
td:last-child, th:last-child { padding-right: 0; }
.explanation { display: block; font-size: 0.82rem; line-height: 1.4; color: var(--muted);
               max-width: 34rem; }
td:has(.bar) { width: 45%; min-width: 7rem; vertical-align: middle; }
.bar { display: block; height: 0.7rem; min-width: 2px; background: var(--series-1);
       border-radius: 0 3px 3px 0; -webkit-print-color-adjust: exact; print-color-adjust: exact; }
figure + .wide { margin-top: 1.25rem; }
.pictures { display: grid; grid-template-columns: repeat(auto-fit, minmax(min(100%, 19rem), 1fr));
            gap: 1.25rem 2rem; margin: 0 0 1.25rem; }
figure { margin: 0; }
figure > svg { display: block; width: 100%; height: auto; }
svg * { stroke-linejoin: round; stroke-linecap: butt; }
figcaption { font-size: 0.82rem; line-height: 1.4; color: var(--muted); margin-top: 0.35rem; }
:focus-visible { outline: 2px solid var(--link); outline-offset: 2px; }
@media (max-width: 36rem) {
  main { padding: 1.5rem 1rem 3rem; }
  h1 { font-size: 1.5rem; }
  th, td { padding-right: 0.4rem; }
  table { font-size: 0.82rem; }
  dl { grid-template-columns: repeat(auto-fill, minmax(9rem, 1fr)); }
}
@media print {
  @page { size: A4; margin: 18mm 16mm; @bottom-right { content: counter(page) " / " counter(pages);
          font: 8pt system-ui, sans-serif; color: #5d626b; } }
  :root { color-scheme: light; --paper: #ffffff; --ink: #000000; --muted: #444444; --line: #bbbbbb;
    --tint: #f4f5f7; --link: #000000; --good: #12694b; --caution: #8a5a00; --bad: #a8201a;
    --series-1: #0072b2; --series-2: #d55e00; --series-3: #00805d; --series-4: #b0558a;
    --series-5: #9a6a00; --series-6: #2f8fca; --series-7: #5b4bb5; --series-8: #6b6e75; }
  body { font-size: 10pt; }
  main { max-width: none; padding: 0; }
  nav { display: none; }
  h2 { margin-top: 1.75rem; }
  h2, h3, caption { break-after: avoid; }
  .pictures { grid-template-columns: 1fr 1fr; }
  figure, tr, dl div, .notice { break-inside: avoid; }
  .wide { overflow: visible; }
  pre { white-space: pre-wrap; overflow: visible; }
}
"""
