{
    // Places and widths are shares of the whole in data-x and data-w; zooming to [x, x + w) stretches them.
    const svg = document.currentScript.closest('svg'), all = [...svg.querySelectorAll('g.f')], letter = 7;
    let from = 0, part = 1;
    const draw = () => {
        const width = svg.getBoundingClientRect().width;
        for (const f of all) {
            const x = +f.dataset.x, w = +f.dataset.w;
            const l = Math.max(0, (x - from) / part), r = Math.min(1, (x + w - from) / part), px = (r - l) * width;
            f.style.display = px < .3 ? 'none' : '';
            if (px < .3)
                continue;
            const bar = f.querySelector('svg'), text = f.querySelector('text'), n = Math.floor((px - 6) / letter);
            bar.setAttribute('x', 100 * l + '%');
            bar.setAttribute('width', 100 * (r - l) + '%');
            const s = f.dataset.n;
            text.textContent = n < 3 ? '' : s.length <= n ? s : s.slice(0, n - 1) + '\u2026';
        }
    };
    const zoom = (x, w) => { from = x; part = w; draw(); };
    for (const f of all)
        f.addEventListener('click', () => zoom(+f.dataset.x, +f.dataset.w));
    svg.querySelector('.reset').addEventListener('click', () => zoom(0, 1));
    const field = svg.querySelector('input'), sum = svg.querySelector('.sum');
    field.addEventListener('input', () => {
        const q = field.value.toLowerCase(), seen = [];
        for (const f of all) {
            const hit = q !== '' && f.dataset.n.toLowerCase().includes(q);
            f.classList.toggle('found', hit);
            if (hit)
                seen.push([+f.dataset.x, +f.dataset.x + +f.dataset.w]);
        }
        let total = 0, end = 0;
        for (const [a, b] of seen.sort((a, b) => a[0] - b[0]))
            if (b > end) {
                total += b - Math.max(a, end);
                end = b;
            }
        sum.textContent = q === '' ? '' : (100 * total).toFixed(1) + ' % of the ' + sum.dataset.of;
    });
    window.addEventListener('keydown', e => {
        if (e.key === 'Escape') {
            field.value = '';
            field.dispatchEvent(new Event('input'));
            zoom(0, 1);
        }
    });
    window.addEventListener('resize', draw);
    draw();
}
