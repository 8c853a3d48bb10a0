'use strict';
// The page says everything without this. It shows a figure's data where it is asked for, and hands out the documents.
{
    const data = JSON.parse(document.getElementById('report-data').textContent);
    // "sections.data.sources[0].data"; "" is the whole.
    const at = path => path.split(/[.[\]]+/).filter(Boolean).reduce((value, key) => value[key], data);

    for (const box of document.querySelectorAll('details.json'))
        box.addEventListener('toggle', () => {
            const pre = box.querySelector('pre');
            if (box.open && pre.hidden) {
                let value = at(box.dataset.path);
                if (typeof value === 'string' && value.startsWith('sections.'))
                    value = at(value);
                const text = JSON.stringify(value, null, 2);
                pre.textContent = text.length < 200000 ? text : text.slice(0, 200000) + '\n\u2026 download it to see the rest';
                pre.hidden = false;
            }
        });
    for (const button of document.querySelectorAll('button[data-file]')) {
        button.hidden = false;
        button.addEventListener('click', () => {
            const link = document.createElement('a');
            link.href = URL.createObjectURL(new Blob([JSON.stringify(at(button.dataset.path), null, 2)], { type: 'application/json' }));
            link.download = button.dataset.file.endsWith('.json') ? button.dataset.file : button.dataset.file + '.json';
            link.click();
            setTimeout(() => URL.revokeObjectURL(link.href), 1000);
        });
    }
    // What is folded is printed too.
    window.addEventListener('beforeprint', () => document.querySelectorAll('details.group').forEach(group => { group.open = true; }));
}
