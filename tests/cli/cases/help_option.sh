# --help, -h, `help` and no verb at all say the same.
tern >1 && tern --help >2 && tern -h >3 && tern help >4
cmp 1 2 && cmp 1 3 && cmp 1 4 && echo same
