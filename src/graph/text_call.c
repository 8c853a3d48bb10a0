/* text_call.c - a call as text, without the graph around it: what tuning results are kept under, the same in every
 * process. */
#include "graph/text_call.h"

#include <string.h>

#include "graph/region.h"
#include "graph/text.h"

void tern__call_types_add(tern__strbuf *s, const tern__call *call)
{
    for (int i = 0; i < call->n_in; i++) {
        tern__strbuf_add(s, i ? "," : "");
        tern__type_add(s, call->in[i]);
    }
    tern__strbuf_add(s, "->");
    for (int i = 0; i < call->n_out; i++) {
        tern__strbuf_add(s, i ? "," : "");
        tern__type_add(s, &call->out[i]);
    }
}

/* "over [4,8]: 2=add(0,1); 3=relu(2); return 3": values are numbered as the region numbers them. */
static void add_region(tern__strbuf *s, const tern__region *r)
{
    char domain[TERN__TYPE_TEXT];
    tern__strbuf_addf(s, "over %s:", tern__shape_text(r->domain.rank, r->domain.shape, domain));
    for (int k = 0; k < r->n_ops; k++) {
        const tern__region_op *op = &r->ops[k];
        tern__strbuf_addf(s, " %u=%s(", op->out, tern__ops[op->op].name);
        for (int i = 0; i < op->n_in; i++)
            tern__strbuf_addf(s, "%s%u", i ? "," : "", op->in[i]);
        tern__strbuf_add(s, ")");
        tern__attrs_add(s, &tern__ops[op->op], op->attrs);
        tern__strbuf_add(s, ";");
    }
    tern__strbuf_add(s, " return");
    for (int i = 0; i < r->n_out; i++)
        tern__strbuf_addf(s, "%s%u", i ? "," : " ", r->out[i]);
}

void tern__call_params_add(tern__strbuf *s, const tern__call *call)
{
    tern__attrs_add(s, call->op, call->attrs);
    if (tern__op_code(call->op) == TERN__OP_fused && call->attrs[0].region)
        add_region(s, call->attrs[0].region);
}

const char *tern__call_params_next_op(const char **at, size_t *length)
{
    while ((*at = strchr(*at, '='))) {
        const char *name = ++*at;
        *length = strcspn(name, "(;");
        *at += *length;
        if (**at != '(')
            continue;
        *at += strcspn(*at, ";"); /* attributes have signs of equality too */
        return name;
    }
    *at = "";
    return NULL;
}
