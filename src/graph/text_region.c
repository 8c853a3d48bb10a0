/* text_region.c - the body of a fused node as text:
 *
 *     %y = fused(%x, %b) over [64,128] {
 *       %r0 = add(%x, %b) : f32[64,128]
 *       %r1 = relu(%r0) : f32[64,128]
 *       return %r1
 *     } : f32[64,128]
 *
 * What comes from outside goes by the names of the node's operands; what is computed inside has names that none of them
 * has. It is read in text_parse.c. */
#include <inttypes.h>
#include <string.h>

#include "graph/region.h"
#include "graph/text.h"

/* How many r's it takes before a digit for a name that no operand has. */
static int local_prefix(const tern_graph *g, const tern__label *labels, const tern__gnode *node)
{
    int longest = 0;
    for (uint32_t i = 0; i < node->n_in; i++) {
        const char *name = labels ? labels[node->in[i]].name : g->values[node->in[i]].name;
        int r = name ? (int)strspn(name, "r") : 0;
        if (r > longest && name[r] >= '0' && name[r] <= '9')
            longest = r;
    }
    return longest + 1;
}

static void add_value(tern__strbuf *s, const tern_graph *g, const tern__label *labels,
                      const tern__gnode *node, int prefix, uint16_t value)
{
    if (value < node->n_in) {
        tern__label_add(s, g, labels, node->in[value]);
        return;
    }
    tern__strbuf_add(s, "%");
    for (int i = 0; i < prefix; i++)
        tern__strbuf_add(s, "r");
    tern__strbuf_addf(s, "%u", value - node->n_in);
}

void tern__region_add(tern__strbuf *s, const tern_graph *g, const tern__label *labels,
                      const tern__gnode *node)
{
    const tern__region *r = node->attrs[0].region;
    int prefix = local_prefix(g, labels, node);
    char domain[TERN__TYPE_TEXT];
    tern__strbuf_addf(s, " over %s {\n", tern__shape_text(r->domain.rank, r->domain.shape, domain));
    for (int k = 0; k < r->n_ops; k++) {
        const tern__region_op *op = &r->ops[k];
        for (int i = 0; i < op->n_out; i++) {
            tern__strbuf_add(s, i ? ", " : "    ");
            add_value(s, g, labels, node, prefix, (uint16_t)(op->out + i));
        }
        tern__strbuf_addf(s, " = %s(", tern__ops[op->op].name);
        for (int i = 0; i < op->n_in; i++) {
            tern__strbuf_add(s, i ? ", " : "");
            add_value(s, g, labels, node, prefix, op->in[i]);
        }
        tern__strbuf_add(s, ")");
        tern__attrs_add(s, &tern__ops[op->op], op->attrs);
        for (int i = 0; i < op->n_out; i++) {
            tern__strbuf_add(s, i ? ", " : " : ");
            tern__type_add(s, &r->types[op->out + i]);
        }
        tern__strbuf_add(s, "\n");
    }
    tern__strbuf_add(s, "    return");
    for (int i = 0; i < r->n_out; i++) {
        tern__strbuf_add(s, i ? ", " : " ");
        add_value(s, g, labels, node, prefix, r->out[i]);
    }
    tern__strbuf_add(s, "\n  }");
}
