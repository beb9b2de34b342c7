"""Flame graphs: stacks with counts to a self-contained SVG.

A stack is a tuple of frames, outermost first. Width is the share of all counts, colour is
the stage that a frame belongs to. A click on a frame shows it at full width, a click on
the bottom everything; the title of a frame tells its share.
"""

import html

WIDTH, ROW, PAD, HEAD, LEGEND = 1200, 17, 10, 48, 18
SHOWN_MIN_PX = 0.15
CHAR_PX = 6.6

STYLE = """text{font:11px monospace;pointer-events:none}
.head{font-size:15px}g.frame{cursor:pointer}g.frame:hover rect{stroke:#000}
g.frame.over rect{opacity:.4}"""

# x and width are kept in parts of the whole, so that a zoom is one linear map.
SCRIPT = """
const frames=[...document.querySelectorAll('g.frame')];
const num=(g,name)=>parseFloat(g.dataset[name]);
function place(g,x,w){
  const r=g.querySelector('rect'),t=g.querySelector('text');
  r.setAttribute('x',x);r.setAttribute('width',Math.max(w-0.3,0));
  t.setAttribute('x',x+3);
  const room=Math.floor((w-6)/CHAR);
  t.textContent=room<3?'':g.dataset.name.length<=room?g.dataset.name:
    g.dataset.name.slice(0,room-2)+'..';
}
function zoom(to){
  const x0=num(to,'x'),w0=num(to,'w'),level=num(to,'level');
  for(const g of frames){
    const x=num(g,'x'),w=num(g,'w'),eps=1e-9;
    const over=num(g,'level')<level&&x<=x0+eps&&x+w>=x0+w0-eps;
    const inside=x>=x0-eps&&x+w<=x0+w0+eps&&num(g,'level')>=level;
    g.style.display=over||inside?'':'none';
    g.classList.toggle('over',over);
    if(over)place(g,PAD,SPAN);
    else if(inside)place(g,PAD+(x-x0)/w0*SPAN,w/w0*SPAN);
  }
}
for(const g of frames)g.addEventListener('click',()=>zoom(g));
"""


class Node:
    def __init__(self, name):
        self.name, self.count, self.children = name, 0, {}


def tree_of(stacks, root="all"):
    """stacks: {(frame, ...): count}."""
    top = Node(root)
    for stack, count in stacks.items():
        node = top
        node.count += count
        for frame in stack:
            node = node.children.setdefault(frame, Node(frame))
            node.count += count
    return top


def layout(top):
    """Yields (node, level, x, width) with x and width as parts of the whole."""
    waiting = [(top, 0, 0.0)]
    while waiting:
        node, level, x = waiting.pop()
        yield node, level, x, node.count / top.count
        for name in sorted(node.children):
            child = node.children[name]
            waiting.append((child, level + 1, x))
            x += child.count / top.count


def color(stage, stages):
    """Stages have hues a golden angle apart, so that neighbours differ; others are grey."""
    if stage not in stages:
        return "#c8c8c8"
    return f"hsl({stages.index(stage) * 137.508 % 360:.0f},65%,72%)"


def short(name, px):
    room = int((px - 6) / CHAR_PX)
    if room < 3:
        return ""
    return name if len(name) <= room else name[: room - 2] + ".."


def render(stacks, title, subtitle, stage_of, stages, unit="samples"):
    """The SVG as text. stage_of(frame) names a frame's stage. What follows a tab in a frame is
    told in the tooltip only."""
    top = tree_of(stacks)
    span = WIDTH - 2 * PAD
    boxes = [box for box in layout(top) if box[3] * span >= SHOWN_MIN_PX]
    depth = max(level for _, level, _, _ in boxes) + 1
    used = [stage for stage in stages
            if any(stage_of(node.name) == stage for node, *_ in boxes)]
    per_line = 6
    legend_rows = -(-len(used) // per_line) if used else 0
    bottom = HEAD + depth * ROW
    height = bottom + PAD + legend_rows * LEGEND + PAD
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" '
           f'width="{WIDTH}" height="{height}">',
           f"<style>{STYLE}</style>",
           f'<rect width="{WIDTH}" height="{height}" fill="#fff"/>',
           f'<text class="head" x="{PAD}" y="20">{html.escape(title)}</text>',
           f'<text x="{PAD}" y="38">{html.escape(subtitle)}</text>']
    for node, level, x, width in boxes:
        label, _, more = node.name.partition("\t")
        stage = stage_of(node.name)
        y = bottom - (level + 1) * ROW
        tip = f"{label}{f' ({more})' if more else ''}: {node.count:,.0f} {unit}, " \
              f"{100 * width:.2f} %{f'; {stage}' if stage in stages else ''}"
        px = width * span
        out.append(
            f'<g class="frame" data-name="{html.escape(label)}" data-x="{x:.9f}" '
            f'data-w="{width:.9f}" data-level="{level}"><title>{html.escape(tip)}</title>'
            f'<rect x="{PAD + x * span:.2f}" y="{y}" width="{max(px - 0.3, 0):.2f}" '
            f'height="{ROW - 1}" fill="{color(stage, stages)}" rx="1"/>'
            f'<text x="{PAD + x * span + 3:.2f}" y="{y + 12}">'
            f"{html.escape(short(label, px))}</text></g>")
    for i, stage in enumerate(used):
        x = PAD + i % per_line * (span // per_line)
        y = bottom + PAD + i // per_line * LEGEND
        out.append(f'<rect x="{x}" y="{y}" width="12" height="12" '
                   f'fill="{color(stage, stages)}"/>'
                   f'<text x="{x + 17}" y="{y + 10}">{html.escape(stage)}</text>')
    script = SCRIPT.replace("CHAR", str(CHAR_PX)).replace("PAD", str(PAD))
    script = script.replace("SPAN", str(span))
    out.append(f"<script><![CDATA[{script}]]></script>\n</svg>\n")
    return "\n".join(out)
