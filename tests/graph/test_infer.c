/* test_infer.c - result types of every op from operand types: good calls, bad calls with their messages, all
 * combinations of dtypes, and random calls that must never misbehave. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/random.h"
#include "harness.h"
#include "infer_util.h"

/* ---- good calls -------------------------------------------------------------------------------------------- */

typedef struct good_row {
    int line;
    const char *op, *in, *attrs, *casts, *out; /* casts: dtypes that operands are cast to; NULL = none are */
} good_row;

#define GOOD(...)             \
    {                         \
        __LINE__, __VA_ARGS__ \
    }

/* clang-format off */
static const good_row GOOD_ROWS[] = {
    /* leaves and sources */
    GOOD("input", "", "name=x dtype=i8 shape=[2,0,3]", NULL, "i8[2,0,3]"),
    GOOD("constant", "", "name=w dtype=t2 shape=[4,10]", NULL, "t2[4,10]"),
    GOOD("state", "", "name=s dtype=f16 shape=[]", NULL, "f16[]"),
    GOOD("full", "", "dtype=bool shape=[2,3] value=1", NULL, "bool[2,3]"),
    GOOD("full", "", "shape=[1,1,1,1,1,1,1,1]", NULL, "f32[1,1,1,1,1,1,1,1]"),
    GOOD("arange", "", "stop=5", NULL, "f32[5]"),
    GOOD("arange", "", "dtype=i64 start=5 stop=0 step=-2", NULL, "i64[3]"),
    GOOD("arange", "", "start=1 stop=0", NULL, "f32[0]"),
    GOOD("arange", "", "start=0 stop=1 step=0.1", NULL, "f32[10]"),
    GOOD("eye", "", "dtype=i32 rows=2 columns=3", NULL, "i32[2,3]"),
    GOOD("eye", "", "rows=0 columns=3 diagonal=-9", NULL, "f32[0,3]"),
    GOOD("rand", "", "dtype=f64 shape=[3] seed=-1", NULL, "f64[3]"),
    GOOD("randn", "", "dtype=bf16 shape=[0]", NULL, "bf16[0]"),

    /* views, cast */
    GOOD("reshape", "f32[2,3]", "shape=[3,-1]", NULL, "f32[3,2]"),
    GOOD("reshape", "f32[2,3]", "shape=[6]", NULL, "f32[6]"),
    GOOD("reshape", "f32[1,1]", "shape=[]", NULL, "f32[]"),
    GOOD("reshape", "f32[0,3]", "shape=[5,0]", NULL, "f32[5,0]"),
    GOOD("reshape", "f32[0,3]", "shape=[3,-1]", NULL, "f32[3,0]"),
    GOOD("reshape", "t2[6,10]", "shape=[2,-1,10]", NULL, "t2[2,3,10]"),
    GOOD("permute", "f32[2,3,4]", "axes=[2,0,-2]", NULL, "f32[4,2,3]"),
    GOOD("permute", "f32[]", "axes=[]", NULL, "f32[]"),
    GOOD("permute", "t5[2,3,4]", "axes=[1,0,2]", NULL, "t5[3,2,4]"),
    GOOD("slice", "i32[5,6]", "start=[1,-1] stop=[-1,0] step=[2,-2]", NULL, "i32[2,3]"),
    GOOD("slice", "i32[5]", "start=[9] stop=[99] step=[1]", NULL, "i32[0]"),
    GOOD("slice", "t2[5,6]", "start=[4,0] stop=[0,9] step=[-2,1]", NULL, "t2[2,6]"),
    GOOD("broadcast", "f32[3,1]", "shape=[2,3,4]", NULL, "f32[2,3,4]"),
    GOOD("broadcast", "f32[]", "shape=[2]", NULL, "f32[2]"),
    GOOD("broadcast", "f32[1]", "shape=[0]", NULL, "f32[0]"),
    GOOD("broadcast", "t2[1,7]", "shape=[3,2,7]", NULL, "t2[3,2,7]"),
    GOOD("again", "t2[2,8]", "", NULL, "t2[2,8]"),
    GOOD("to_device", "f32[2]", "device=cpu", NULL, "f32[2]"),
    GOOD("contiguous", "t5[2,7]", "", NULL, "t5[2,7]"),
    GOOD("cast", "t2[2,3]", "dtype=i8", NULL, "i8[2,3]"),
    GOOD("cast", "f32[2,3]", "dtype=t5", NULL, "t5[2,3]"),

    /* unary */
    GOOD("neg", "bool[2]", "", "i32", "i32[2]"),
    GOOD("abs", "u8[2]", "", NULL, "u8[2]"),
    GOOD("sign", "f16[2]", "", NULL, "f16[2]"),
    GOOD("square", "i64[]", "", NULL, "i64[]"),
    GOOD("relu", "i8[1,2]", "", NULL, "i8[1,2]"),
    GOOD("clamp", "i32[3]", "low=5 high=1", NULL, "i32[3]"),
    GOOD("floor", "i32[3]", "", "f32", "f32[3]"),
    GOOD("ceil", "f64[3]", "", NULL, "f64[3]"),
    GOOD("trunc", "bool[3]", "", "f32", "f32[3]"),
    GOOD("round", "bf16[3]", "", NULL, "bf16[3]"),
    GOOD("reciprocal", "f16[3]", "", NULL, "f16[3]"),
    GOOD("sqrt", "i64[3]", "", "f32", "f32[3]"),
    GOOD("rsqrt", "f32[3]", "", NULL, "f32[3]"),
    GOOD("cbrt", "f32[3]", "", NULL, "f32[3]"),
    GOOD("exp", "f32[0]", "", NULL, "f32[0]"),
    GOOD("exp2", "f32[3]", "", NULL, "f32[3]"),
    GOOD("expm1", "f32[3]", "", NULL, "f32[3]"),
    GOOD("log", "f32[3]", "", NULL, "f32[3]"),
    GOOD("log2", "f32[3]", "", NULL, "f32[3]"),
    GOOD("log1p", "f32[3]", "", NULL, "f32[3]"),
    GOOD("sin", "f32[3]", "", NULL, "f32[3]"),
    GOOD("cos", "f32[3]", "", NULL, "f32[3]"),
    GOOD("tan", "f32[3]", "", NULL, "f32[3]"),
    GOOD("asin", "f32[3]", "", NULL, "f32[3]"),
    GOOD("acos", "f32[3]", "", NULL, "f32[3]"),
    GOOD("atan", "f32[3]", "", NULL, "f32[3]"),
    GOOD("sinh", "f32[3]", "", NULL, "f32[3]"),
    GOOD("cosh", "f32[3]", "", NULL, "f32[3]"),
    GOOD("tanh", "f32[3]", "", NULL, "f32[3]"),
    GOOD("erf", "f32[3]", "", NULL, "f32[3]"),
    GOOD("relu2", "i8[3]", "", "f32", "f32[3]"),
    GOOD("leaky_relu", "f32[3]", "slope=0.2", NULL, "f32[3]"),
    GOOD("elu", "f32[3]", "", NULL, "f32[3]"),
    GOOD("gelu", "f32[3]", "", NULL, "f32[3]"),
    GOOD("gelu_tanh", "f32[3]", "", NULL, "f32[3]"),
    GOOD("silu", "f32[3]", "", NULL, "f32[3]"),
    GOOD("sigmoid", "f32[3]", "", NULL, "f32[3]"),
    GOOD("softplus", "f32[3]", "", NULL, "f32[3]"),
    GOOD("isnan", "i8[3]", "", NULL, "bool[3]"),
    GOOD("isinf", "f16[3]", "", NULL, "bool[3]"),
    GOOD("isfinite", "f64[3]", "", NULL, "bool[3]"),
    GOOD("logical_not", "f32[3]", "", "bool", "bool[3]"),
    GOOD("bit_not", "bool[3]", "", NULL, "bool[3]"),

    /* binary */
    GOOD("add", "f32[8] f32[8]", "", NULL, "f32[8]"),
    GOOD("add", "f32[2,3] f32[3]", "", NULL, "f32[2,3]"),
    GOOD("add", "f32[3,1] f32[4]", "", NULL, "f32[3,4]"),
    GOOD("add", "f32[] f32[]", "", NULL, "f32[]"),
    GOOD("add", "f32[0] f32[1]", "", NULL, "f32[0]"),
    GOOD("add", "f16[2] bf16[2]", "", "f32 f32", "f32[2]"),
    GOOD("add", "u8[2] i8[2]", "", "i32 i32", "i32[2]"),
    GOOD("add", "bool[2] bool[2]", "", NULL, "bool[2]"),
    GOOD("add", "i64[2] f16[2]", "", "f16 f16", "f16[2]"),
    GOOD("sub", "bool[2] bool[2]", "", "i32 i32", "i32[2]"),
    GOOD("sub", "bool[2] u8[2]", "", "u8 u8", "u8[2]"),
    GOOD("mul", "i32[2] i64[2]", "", "i64 i64", "i64[2]"),
    GOOD("div", "i32[2] i64[2]", "", "f32 f32", "f32[2]"),
    GOOD("div", "i32[2] f64[2]", "", "f64 f64", "f64[2]"),
    GOOD("floor_div", "u8[2] u8[2]", "", NULL, "u8[2]"),
    GOOD("mod", "f32[2] i8[2]", "", "f32 f32", "f32[2]"),
    GOOD("pow", "bool[2] bool[2]", "", "f32 f32", "f32[2]"),
    GOOD("atan2", "bf16[2] i8[2]", "", "bf16 bf16", "bf16[2]"),
    GOOD("maximum", "f32[2] f64[]", "", "f64 f64", "f64[2]"),
    GOOD("minimum", "i8[2] i8[1]", "", NULL, "i8[2]"),
    GOOD("eq", "i8[2] f32[2]", "", "f32 f32", "bool[2]"),
    GOOD("ne", "i8[2] i8[2]", "", NULL, "bool[2]"),
    GOOD("lt", "i8[2] i8[2]", "", NULL, "bool[2]"),
    GOOD("le", "i8[2] i8[2]", "", NULL, "bool[2]"),
    GOOD("gt", "i8[2] i8[2]", "", NULL, "bool[2]"),
    GOOD("ge", "bool[2] bool[2]", "", NULL, "bool[2]"),
    GOOD("logical_and", "f32[2] i8[2]", "", "bool bool", "bool[2]"),
    GOOD("logical_or", "bool[2] bool[2]", "", NULL, "bool[2]"),
    GOOD("logical_xor", "bool[2] f64[1,2]", "", "bool bool", "bool[1,2]"),
    GOOD("bit_and", "bool[2] i32[2]", "", "i32 i32", "i32[2]"),
    GOOD("bit_or", "bool[2] bool[2]", "", NULL, "bool[2]"),
    GOOD("bit_xor", "i8[2] u8[2]", "", "i32 i32", "i32[2]"),
    GOOD("where", "f32[3,1] i8[4] f32[2,1,1]", "", "bool f32 f32", "f32[2,3,4]"),
    GOOD("where", "bool[2] bool[] bool[]", "", NULL, "bool[2]"),

    /* reductions */
    GOOD("sum", "f16[2,3]", "", NULL, "f16[]"),
    GOOD("sum", "bool[2,3]", "axes=[-1]", NULL, "i64[2]"),
    GOOD("sum", "i32[2,3,4]", "axes=[0,2] keepdims=true", NULL, "i64[1,3,1]"),
    GOOD("sum", "f32[]", "keepdims=true", NULL, "f32[]"),
    GOOD("mean", "i32[2,0]", "axes=[1]", "f32", "f32[2]"),
    GOOD("prod", "u8[2]", "", NULL, "i64[]"),
    GOOD("max", "bool[2,3]", "axes=[0]", NULL, "bool[3]"),
    GOOD("max", "f32[0,3]", "axes=[1]", NULL, "f32[0]"),
    GOOD("max", "f32[0,0]", "axes=[1]", NULL, "f32[0]"),
    GOOD("min", "f32[2,3]", "keepdims=true", NULL, "f32[1,1]"),
    GOOD("var", "f64[5]", "ddof=1", NULL, "f64[]"),
    GOOD("any", "f32[5]", "", "bool", "bool[]"),
    GOOD("all", "bool[5,2]", "axes=[0]", NULL, "bool[2]"),
    GOOD("logsumexp", "i8[5,2]", "axes=[1]", "f32", "f32[5]"),
    GOOD("argmax", "f32[5,2]", "axis=0", NULL, "i64[2]"),
    GOOD("argmin", "bool[5,2]", "keepdims=true", NULL, "i64[5,1]"),

    /* along an axis */
    GOOD("cumsum", "i8[2,3]", "axis=0", NULL, "i64[2,3]"),
    GOOD("softmax", "i32[2,3]", "", "f32", "f32[2,3]"),
    GOOD("log_softmax", "f16[2,0]", "axis=1", NULL, "f16[2,0]"),
    GOOD("rmsnorm", "f32[2,3]", "", NULL, "f32[2,3]"),
    GOOD("rmsnorm", "f16[2,3] f32[3]", "eps=0", "f32 f32", "f32[2,3]"),
    GOOD("layernorm", "i8[3] f16[3] i32[3]", "", "f16 f16 f16", "f16[3]"),
    GOOD("sort", "bool[2,3]", "axis=0 descending=true", NULL, "bool[2,3] i64[2,3]"),
    GOOD("topk", "f16[2,3]", "k=2", NULL, "f16[2,2] i64[2,2]"),
    GOOD("topk", "f16[2,3]", "k=0 axis=0", NULL, "f16[0,3] i64[0,3]"),

    /* products */
    GOOD("matmul", "f32[32,784] f32[784,256]", "", NULL, "f32[32,256]"),
    GOOD("matmul", "f32[3] f32[3]", "", NULL, "f32[]"),
    GOOD("matmul", "f32[3] f32[3,4]", "", NULL, "f32[4]"),
    GOOD("matmul", "f32[2,3] f32[3]", "", NULL, "f32[2]"),
    GOOD("matmul", "f32[5,2,3] f32[3]", "", NULL, "f32[5,2]"),
    GOOD("matmul", "f32[3] f32[5,3,4]", "", NULL, "f32[5,4]"),
    GOOD("matmul", "f32[7,1,2,3] f32[5,3,4]", "", NULL, "f32[7,5,2,4]"),
    GOOD("matmul", "f32[3,2] f32[4,3]", "transpose_a=true transpose_b=true", NULL, "f32[2,4]"),
    GOOD("matmul", "f32[2,3] f32[4,3]", "transpose_b=true", NULL, "f32[2,4]"),
    GOOD("matmul", "bool[2,0] bool[0,4]", "", "i32 i32", "i32[2,4]"),
    GOOD("matmul", "i8[2,3] f16[3,4]", "", "f16 f16", "f16[2,4]"),
    GOOD("ternary_matmul", "i8[2,5,10] t2[7,10]", "", NULL, "i32[2,5,7]"),
    GOOD("ternary_matmul", "i8[10] t5[7,10]", "", NULL, "i32[7]"),
    GOOD("ternary_matmul", "i8[2,5,24] t5[7,24] f16[7,3]", "", "i8 t5 f32", "f32[2,5,7]"),
    GOOD("ternary_matmul", "i8[2,5,23] t5[7,23] f16[7,1]", "", "i8 t5 f32", "f32[2,5,7]"),
    GOOD("linear", "f32[2,5,10] f16[7,10]", "", NULL, "f32[2,5,7]"),
    GOOD("linear", "bf16[10] q6_k[7,10]", "", "f32 q6_k", "f32[7]"),
    GOOD("linear", "i8[3,10] i8[7,10]", "", NULL, "i32[3,7]"),
    GOOD("linear", "i8[1,131071] i8[2,131071]", "", NULL, "i32[1,2]"),
    GOOD("ternary_matmul", "i8[16777215] t2[2,16777215]", "", NULL, "i32[2]"),
    GOOD("packed_linear", "f32[2,33] u8[3,2176]", "n=70 dtype=q8_0", NULL, "f32[2,70]"),
    GOOD("packed_linear", "i8[33] u8[1,1152]", "n=7 dtype=i8", NULL, "i32[7]"),
    GOOD("packed_gather", "u8[3,2176] i64[2,5]", "n=70 k=33 dtype=q8_0", NULL, "f32[2,5,33]"),
    GOOD("packed_gather", "u8[1,448] i64[]", "n=7 k=7 dtype=bf16", NULL, "bf16[7]"),
    GOOD("gather", "q8_0[5,40] i32[2,3]", "", "q8_0 i64", "f32[2,3,40]"),
    GOOD("packed_matmul", "f32[2,5,10] f32[2,10,16]", "n=20", NULL, "f32[2,5,20]"),
    GOOD("packed_matmul", "f32[10,5] f32[2,10,16]", "n=20 transpose_a=true", NULL, "f32[5,20]"),
    GOOD("packed_matmul", "f32[10] f32[1,10,16]", "n=3", NULL, "f32[3]"),
    GOOD("packed_matmul", "bf16[5,10] bf16[2,10,16]", "n=20", NULL, "bf16[5,20]"),
    GOOD("packed_ternary_matmul", "i8[2,10] u8[1,3,64]", "n=70 form=5", NULL, "i32[2,70]"),
    GOOD("packed_ternary_matmul", "i8[2,12] u8[1,3,64] f32[70,3]", "n=70 form=5", NULL, "f32[2,70]"),

    /* moving data */
    GOOD("concat", "f32[2,3]", "", NULL, "f32[2,3]"),
    GOOD("concat", "f32[2,3] i8[2,0] f16[2,4]", "axis=-1", "f32 f32 f32", "f32[2,7]"),
    GOOD("stack", "f32[2,3] f32[2,3]", "axis=1", NULL, "f32[2,2,3]"),
    GOOD("stack", "bool[] i8[]", "", "i8 i8", "i8[2]"),
    GOOD("stack", "f32[2,3] f32[2,3] f32[2,3]", "axis=-1", NULL, "f32[2,3,3]"),
    GOOD("split", "i8[2,6]", "sizes=[1,0,5] axis=1", NULL, "i8[2,1] i8[2,0] i8[2,5]"),
    GOOD("pad", "bool[2,3]", "before=[1,0] after=[0,4] value=1", NULL, "bool[3,7]"),
    GOOD("pad", "f32[]", "", NULL, "f32[]"),
    GOOD("gather", "f32[10,4] u8[2,3]", "", "f32 i64", "f32[2,3,4]"),
    GOOD("gather", "f32[10,4] i64[]", "axis=-1", NULL, "f32[10]"),
    GOOD("take_along", "f32[2,3] i32[2,7]", "", "f32 i64", "f32[2,7]"),
    GOOD("scatter_add", "f16[5,3] i32[2] f32[2,3]", "", "f32 i64 f32", "f32[5,3]"),
    GOOD("scatter_add", "bool[5] i64[2] bool[2]", "", "i32 i64 i32", "i32[5]"),
    GOOD("one_hot", "i8[2]", "classes=3 dtype=bool", "i64", "bool[2,3]"),
    GOOD("tril", "bool[2,3]", "diagonal=-1", NULL, "bool[2,3]"),
    GOOD("triu", "f32[2,3,4]", "", NULL, "f32[2,3,4]"),
    GOOD("flip", "i8[2,3]", "axes=[-1,0]", NULL, "i8[2,3]"),

    /* quantisation */
    GOOD("quantise_rows", "f16[2,3]", "", "f32", "i8[2,3] f32[2,1]"),
    GOOD("quantise_tensor", "i32[2,3]", "", "f32", "i8[2,3] f32[]"),
    GOOD("quantise", "bf16[2,3] f64[2,1]", "", "f32 f32", "i8[2,3]"),
    GOOD("dequantise", "i32[2,3] f32[]", "", NULL, "f32[2,3]"),
    GOOD("dequantise", "i8[2,3] f16[3]", "", "i8 f32", "f32[2,3]"),
    GOOD("ternary_quantise", "f16[2,3]", "", "f32", "t2[2,3] f32[]"),
    GOOD("ternary_quantise", "f32[2,3] f32[]", "dtype=t5", NULL, "t5[2,3] f32[]"),
    GOOD("ternary_dequantise", "t5[2,3] f16[]", "", "t5 f32", "f32[2,3]"),

    /* transformers */
    GOOD("rope", "f16[4,8,64] i64[4]", "", "f16 i32", "f16[4,8,64]"),
    GOOD("rope", "i32[4,8,65] i32[4]", "dims=32 interleaved=true", "f32 i32", "f32[4,8,65]"),
    GOOD("attention", "f32[5,8,16] f16[2,32,4,16] bf16[2,32,4,16] i64[5] u8[5]", "",
         "f32 f16 bf16 i32 i32", "f32[5,8,16]"),
    GOOD("attention", "i8[5,8,16] f16[2,32,8,16] f16[2,32,8,16] i32[5] i32[5]", "scale=2",
         "f32 f16 f16 i32 i32", "f32[5,8,16]"),
    GOOD("attention", "f16[5,8,16] i8[2,32,4,16] i8[2,32,4,16] i32[5] i32[5] f16[2,32,4,1] f32[2,32,4,1]", "",
         "f16 i8 i8 i32 i32 f32 f32", "f16[5,8,16]"),
    GOOD("overwrite", "f16[2,3] i64[3]", "", "f16 f16", "f16[2,3]"),
    GOOD("overwrite", "t2[4,6] f32[6]", "", "t2 t2", "t2[4,6]"),
    GOOD("write_slice", "f16[4,5] f32[1,5] i8[2]", "", "f16 f16 i64", "f16[4,5]"),
    GOOD("write_slice", "i8[] i8[] i64[0]", "", NULL, "i8[]"),
    GOOD("write_rows", "f16[2,32,4,16] f32[5,4,16] i64[5] i64[5]", "", "f16 f16 i32 i32", "f16[2,32,4,16]"),

    /* images */
    GOOD("conv2d", "f32[1,4,8,9] f32[6,2,3,3] f16[6]", "groups=2 pad_h=1 stride_w=2", "f32 f32 f32", "f32[1,6,8,4]"),
    GOOD("conv2d", "f16[1,8,9,4] f16[6,4,3,2]", "nhwc=true dilation_h=2 dilation_w=3", NULL, "f16[1,4,6,6]"),
    GOOD("max_pool2d", "i8[2,3,8,9]", "", "f32", "f32[2,3,4,4]"),
    GOOD("avg_pool2d", "f16[2,8,9,3]", "nhwc=true kernel_h=3 pad_h=1 stride_h=1 stride_w=1 count_padding=true", NULL,
         "f16[2,8,8,3]"),
};
/* clang-format on */

enum { GOOD_COUNT = sizeof GOOD_ROWS / sizeof GOOD_ROWS[0] };

/* The dtypes of the operands themselves, in the form of the casts column. */
static void operand_dtypes(const parsed_call *c, char buffer[CALL_TEXT])
{
    parsed_call same = *c;
    for (int i = 0; i < c->call.n_in; i++)
        same.operands[i] = c->types[i].dtype;
    infer_operands_text(&same, buffer);
}

static void check_good(const good_row *row)
{
    parsed_call c;
    char text[CALL_TEXT], same[CALL_TEXT];
    if (!infer_parse(row->op, row->in, row->attrs, &c)) {
        harness_fail(__FILE__, row->line, "the test's own text is wrong");
        return;
    }
    if (!harness_check_ok(tern__op_infer(&c.call, c.operands), __FILE__, row->line, row->op))
        return;
    operand_dtypes(&c, same);
    harness_check_str(infer_results_text(&c, text), row->out, __FILE__, row->line, row->op);
    harness_check_str(infer_operands_text(&c, text), row->casts ? row->casts : same, __FILE__, row->line,
                      row->op);
}

TEST(good_calls)
{
    for (int i = 0; i < GOOD_COUNT; i++)
        check_good(&GOOD_ROWS[i]);
}

TEST(every_op_has_a_good_call)
{
    for (int op = 0; op < TERN__OP_COUNT; op++) {
        bool found = (tern__ops[op].flags & TERN__INTERNAL) != 0; /* tests/graph/test_region.c */
        for (int i = 0; i < GOOD_COUNT; i++)
            found = found || strcmp(GOOD_ROWS[i].op, tern__ops[op].name) == 0;
        if (!found)
            harness_fail(__FILE__, __LINE__, "no row above tests %s", tern__ops[op].name);
    }
}

/* ---- bad calls --------------------------------------------------------------------------------------------- */

typedef struct bad_row {
    int line;
    const char *op, *in, *attrs;
    tern_status status;
    const char *message;
} bad_row;

#define BAD(...)              \
    {                         \
        __LINE__, __VA_ARGS__ \
    }

/* clang-format off */
static const bad_row BAD_ROWS[] = {
    /* counts */
    BAD("add", "f32[2]", "", TERN_INVALID_ARGUMENT, "add: takes 2 operands, got 1"),
    BAD("neg", "f32[2] f32[2]", "", TERN_INVALID_ARGUMENT, "neg: takes 1 operand, got 2"),
    BAD("concat", "", "", TERN_INVALID_ARGUMENT, "concat: takes 1 or more operands, got 0"),
    BAD("rmsnorm", "f32[2] f32[2] f32[2]", "", TERN_INVALID_ARGUMENT, "rmsnorm: takes 1 to 2 operands, got 3"),

    /* sources */
    BAD("full", "", "shape=[1,1,1,1,1,1,1,1,1]", TERN_SHAPE, "full: rank 9 is above the limit of 8"),
    BAD("full", "", "shape=[2,-1]", TERN_SHAPE, "full: axis 1 of [2,-1] has a negative size"),
    BAD("full", "", "shape=[4611686018427387904,4]", TERN_OVERFLOW, "full: f32[4611686018427387904,4] does not fit in memory"),
    BAD("full", "", "shape=[4611686018427387904]", TERN_OVERFLOW, "full: f32[4611686018427387904] does not fit in memory"),
    BAD("full", "", "dtype=t2 shape=[2]", TERN_DTYPE, "full: cannot give t2; accepted: bool u8 i8 i32 i64 f16 bf16 f32 f64"),
    BAD("randn", "", "dtype=i32 shape=[2]", TERN_DTYPE, "randn: cannot give i32; accepted: f16 bf16 f32 f64"),
    BAD("arange", "", "stop=5 step=0", TERN_INVALID_ARGUMENT, "arange: step is 0"),
    BAD("arange", "", "stop=inf", TERN_INVALID_ARGUMENT, "arange: start 0, stop inf and step 1 must be finite"),
    BAD("arange", "", "stop=1e300", TERN_OVERFLOW, "arange: 1e+300 elements from 0 to 1e+300 by 1 are too many"),
    BAD("eye", "", "rows=-1", TERN_SHAPE, "eye: axis 0 of [-1,1] has a negative size"),

    /* views */
    BAD("reshape", "f32[2,3]", "shape=[4,2]", TERN_SHAPE, "reshape: [2,3] has 6 elements and does not fit [4,2]"),
    BAD("reshape", "f32[2,3]", "shape=[4,-1]", TERN_SHAPE, "reshape: [2,3] has 6 elements and does not fit [4,-1]"),
    BAD("reshape", "f32[0]", "shape=[0,-1]", TERN_SHAPE, "reshape: [0] has 0 elements and does not fit [0,-1]"),
    BAD("reshape", "f32[2,3]", "shape=[-1,-1]", TERN_SHAPE, "reshape: [-1,-1] has more than one size of -1"),
    BAD("reshape", "f32[2,3]", "shape=[-2,3]", TERN_SHAPE, "reshape: [-2,3] has a negative size"),
    BAD("reshape", "f32[2]", "shape=[4611686018427387904,4]", TERN_OVERFLOW, "reshape: [4611686018427387904,4] is too large"),
    BAD("reshape", "t2[6,10]", "shape=[60]", TERN_DTYPE, "reshape: the last axis of t2[6,10] must stay as it is: cast it to i8 first"),
    BAD("permute", "f32[2,3]", "axes=[0]", TERN_SHAPE, "permute: 1 axes were given for [2,3]"),
    BAD("permute", "f32[2,3]", "axes=[0,-2]", TERN_INVALID_ARGUMENT, "permute: axis 0 is named twice"),
    BAD("permute", "f32[2,3]", "axes=[0,2]", TERN_OUT_OF_RANGE, "permute: axis 2 is outside the rank 2 of [2,3]"),
    BAD("permute", "t2[2,4]", "axes=[1,0]", TERN_DTYPE, "permute: the last axis of t2[2,4] must stay as it is: cast it to i8 first"),
    BAD("slice", "f32[2,3]", "start=[0] stop=[1] step=[1]", TERN_SHAPE, "slice: 1 ranges were given for [2,3]"),
    BAD("slice", "f32[2]", "start=[0] stop=[1] step=[0]", TERN_INVALID_ARGUMENT, "slice: the step of axis 0 is 0"),
    BAD("slice", "f32[2]", "start=[0] stop=[1,2] step=[1]", TERN_INVALID_ARGUMENT, "slice: stop has 2 entries and start has 1"),
    BAD("slice", "t5[2,9]", "start=[0,0] stop=[2,5] step=[1,1]", TERN_DTYPE, "slice: the last axis of t5[2,9] must stay as it is: cast it to i8 first"),
    BAD("broadcast", "f32[2,3]", "shape=[2,4]", TERN_SHAPE, "broadcast: [2,3] does not broadcast to [2,4]"),
    BAD("broadcast", "f32[2,3]", "shape=[3]", TERN_SHAPE, "broadcast: [2,3] does not broadcast to [3]"),
    BAD("broadcast", "f32[1]", "shape=[-1]", TERN_SHAPE, "broadcast: axis 0 of [-1] has a negative size"),
    BAD("broadcast", "t2[3,1]", "shape=[3,4]", TERN_DTYPE, "broadcast: the last axis of t2[3,1] must stay as it is: cast it to i8 first"),
    BAD("to_device", "f32[2]", "device=gpu", TERN_NOT_FOUND, "to_device: unknown device 'gpu': the devices are: cpu"),
    BAD("to_device", "f32[2]", "", TERN_NOT_FOUND, "to_device: unknown device '': the devices are: cpu"),

    /* elementwise */
    BAD("add", "f32[2,3] f32[4]", "", TERN_SHAPE, "add: shapes [2,3] and [4] do not broadcast"),
    BAD("add", "f32[0] f32[2]", "", TERN_SHAPE, "add: shapes [0] and [2] do not broadcast"),
    BAD("where", "bool[2] f32[3] f32[1]", "", TERN_SHAPE, "where: shapes [2], [3] and [1] do not broadcast"),
    BAD("where", "bool[2] f32[2] f32[5]", "", TERN_SHAPE, "where: shapes [2], [2] and [5] do not broadcast"),
    BAD("mul", "i8[4294967296,1] i8[1,4294967296]", "", TERN_OVERFLOW, "mul: i8[4294967296,4294967296] does not fit in memory"),
    BAD("add", "f32[2] t2[2]", "", TERN_DTYPE, "add: operand b is t2, which is not accepted here: cast it to i8 or use ternary_dequantise"),
    BAD("add", "t5[2] t5[2]", "", TERN_DTYPE, "add: operand a is t5, which is not accepted here: cast it to i8 or use ternary_dequantise"),
    BAD("exp", "t2[2]", "", TERN_DTYPE, "exp: operand x is t2, which is not accepted here: cast it to i8 or use ternary_dequantise"),
    BAD("where", "t2[2] f32[2] f32[2]", "", TERN_DTYPE, "where: operand condition is t2, which is not accepted here: cast it to i8 or use ternary_dequantise"),
    BAD("bit_not", "f32[2]", "", TERN_DTYPE, "bit_not: operand x is f32; accepted: bool u8 i8 i32 i64"),
    BAD("bit_and", "i8[2] bf16[2]", "", TERN_DTYPE, "bit_and: operand b is bf16; accepted: bool u8 i8 i32 i64"),
    BAD("clamp", "f32[2]", "low=nan", TERN_INVALID_ARGUMENT, "clamp: the bounds nan and inf must not be NaN"),

    /* reductions and axes */
    BAD("sum", "f32[2,3]", "axes=[2]", TERN_OUT_OF_RANGE, "sum: axis 2 is outside the rank 2 of [2,3]"),
    BAD("sum", "f32[2,3]", "axes=[1,-1]", TERN_INVALID_ARGUMENT, "sum: axis 1 is named twice"),
    BAD("sum", "f32[]", "axes=[0]", TERN_OUT_OF_RANGE, "sum: axis 0 is outside the rank 0 of []"),
    BAD("max", "f32[0,3]", "axes=[0]", TERN_SHAPE, "max: [0,3] leaves nothing to choose from"),
    BAD("min", "f32[0]", "", TERN_SHAPE, "min: [0] leaves nothing to choose from"),
    BAD("argmax", "f32[0,3]", "axis=0", TERN_SHAPE, "argmax: axis 0 of [0,3] leaves nothing to choose from"),
    BAD("argmin", "f32[]", "", TERN_OUT_OF_RANGE, "argmin: axis -1 is outside the rank 0 of []"),
    BAD("softmax", "f32[2]", "axis=-2", TERN_OUT_OF_RANGE, "softmax: axis -2 is outside the rank 1 of [2]"),
    BAD("rmsnorm", "f32[]", "", TERN_SHAPE, "rmsnorm: x needs at least one axis"),
    BAD("rmsnorm", "f32[2,3] f32[2]", "", TERN_SHAPE, "rmsnorm: weight [2] does not fit the last axis of [2,3]"),
    BAD("layernorm", "f32[2,3] f32[3] f32[1,3]", "", TERN_SHAPE, "layernorm: bias [1,3] does not fit the last axis of [2,3]"),
    BAD("layernorm", "f32[3]", "eps=-1", TERN_INVALID_ARGUMENT, "layernorm: eps -1 must not be negative"),
    BAD("sort", "f32[]", "", TERN_OUT_OF_RANGE, "sort: axis -1 is outside the rank 0 of []"),
    BAD("topk", "f32[2,3]", "k=4", TERN_OUT_OF_RANGE, "topk: k 4 is outside 0..3, the size of axis 1 of [2,3]"),
    BAD("flip", "f32[2,3]", "axes=[0,0]", TERN_INVALID_ARGUMENT, "flip: axis 0 is named twice"),

    /* products */
    BAD("matmul", "f32[32,784] f32[512,256]", "", TERN_SHAPE, "matmul: inner sizes differ: [32,784] x [512,256]"),
    BAD("matmul", "f32[2,3] f32[3,4]", "transpose_b=true", TERN_SHAPE, "matmul: inner sizes differ: [2,3] x [3,4] (b transposed)"),
    BAD("matmul", "f32[2,3] f32[3,4]", "transpose_a=true transpose_b=true", TERN_SHAPE, "matmul: inner sizes differ: [2,3] x [3,4] (both transposed)"),
    BAD("matmul", "f32[] f32[3,4]", "", TERN_SHAPE, "matmul: operands need at least one axis: [] x [3,4]"),
    BAD("matmul", "f32[3] f32[3,4]", "transpose_a=true", TERN_SHAPE, "matmul: a vector cannot be transposed: [3] x [3,4] (a transposed)"),
    BAD("matmul", "f32[2,2,3] f32[5,3,4]", "", TERN_SHAPE, "matmul: leading axes do not broadcast: [2,2,3] x [5,3,4]"),
    BAD("matmul", "i8[2,3] t2[3,4]", "", TERN_DTYPE, "matmul: operand b is t2, which is not accepted here: cast it to i8 or use ternary_dequantise"),
    BAD("ternary_matmul", "f32[2,3] t2[4,3]", "", TERN_DTYPE, "ternary_matmul: operand x is f32; accepted: i8 (quantise_rows makes it)"),
    BAD("ternary_matmul", "i8[2,3] i8[4,3]", "", TERN_DTYPE, "ternary_matmul: operand weight is i8; accepted: t2 t5 (ternary_quantise makes them)"),
    BAD("ternary_matmul", "i8[2,3] t2[4,5]", "", TERN_SHAPE, "ternary_matmul: inner sizes differ: [2,3] x [4,5] transposed"),
    BAD("ternary_matmul", "i8[2,3] t2[3]", "", TERN_SHAPE, "ternary_matmul: weight [3] must be a matrix [n, k]"),
    BAD("ternary_matmul", "i8[2,24] t2[3,24] f32[3,5]", "", TERN_SHAPE, "ternary_matmul: scales [3,5] must be [3, blocks], with one block or blocks of a multiple of 4 of the 24 columns"),
    BAD("ternary_matmul", "i8[2,24] t2[3,24] f32[4,3]", "", TERN_SHAPE, "ternary_matmul: scales [4,3] must be [3, blocks], with one block or blocks of a multiple of 4 of the 24 columns"),
    BAD("ternary_matmul", "i8[2,22] t2[3,22] f32[3,2]", "", TERN_SHAPE, "ternary_matmul: scales [3,2] must be [3, blocks], with one block or blocks of a multiple of 4 of the 22 columns"),
    BAD("ternary_matmul", "i8[2,24] t2[3,24] t2[3,2]", "", TERN_DTYPE, "ternary_matmul: operand scales is t2, which is not accepted here: cast it to i8 or use ternary_dequantise"),
    BAD("ternary_matmul", "i8[] t2[3,3]", "", TERN_SHAPE, "ternary_matmul: x needs at least one axis"),
    BAD("linear", "f32[2,3] i8[4,3]", "", TERN_DTYPE, "linear: operand x is f32; accepted: i8 with i8 weights (quantise_rows makes it)"),
    BAD("linear", "f32[2,3] t2[4,3]", "", TERN_DTYPE, "linear: operand weight is t2; accepted: i8 f16 bf16 f32 q8_0 q6_k q4_0 q4_k"),
    BAD("linear", "q8_0[2,3] f16[4,3]", "", TERN_DTYPE, "linear: operand x is q8_0, which is not accepted here: cast it to f32"),
    BAD("linear", "i8[1,131072] i8[2,131072]", "", TERN_SHAPE, "linear: x [1,131072] has too many columns: sums of more than 131071 products need not fit i32; split them and add the parts as f32"),
    BAD("ternary_matmul", "i8[16777216] t5[2,16777216]", "", TERN_SHAPE, "ternary_matmul: x [16777216] has too many columns: sums of more than 16777215 products need not fit i32; split them and add the parts as f32"),
    BAD("packed_linear", "i8[131072] u8[1,4194304]", "n=7 dtype=i8", TERN_SHAPE, "packed_linear: x [131072] has too many columns: sums of more than 131071 products need not fit i32; split them and add the parts as f32"),
    BAD("linear", "f32[2,3] f16[4,5]", "", TERN_SHAPE, "linear: inner sizes differ: [2,3] x [4,5] transposed"),
    BAD("packed_linear", "f32[2,33] u8[3,2175]", "n=70 dtype=q8_0", TERN_SHAPE, "packed_linear: weight [3,2175] must be [tiles, 2176]"),
    BAD("packed_linear", "f32[2,33] u8[2,2176]", "n=70 dtype=q8_0", TERN_SHAPE, "packed_linear: weight [2,2176] does not hold 70 in tiles of 32"),
    BAD("packed_gather", "u8[3,2175] i64[2]", "n=70 k=33 dtype=q8_0", TERN_SHAPE, "packed_gather: table [3,2175] must be [tiles, 2176]"),
    BAD("packed_gather", "u8[2,2176] i64[2]", "n=70 k=33 dtype=q8_0", TERN_SHAPE, "packed_gather: table [2,2176] does not hold 70 in tiles of 32"),
    BAD("packed_gather", "u8[2,2176] i64[2]", "n=70 k=-1 dtype=q8_0", TERN_SHAPE, "packed_gather: rows of -1 elements: 0 to 1125899906842619 fit"),
    BAD("packed_gather", "u8[1,448] i64[2]", "n=7 k=7 dtype=f32", TERN_DTYPE, "packed_gather: there are no packed tables of type f32"),
    BAD("packed_linear", "f32[2,33] u8[3,2176]", "n=70 dtype=t2", TERN_DTYPE, "packed_linear: there are no packed weights of type t2"),
    BAD("gather", "q8_0[5,40] i32[2,3]", "axis=1", TERN_DTYPE, "gather: q8_0[5,40] gives whole rows only, not along its last axis: cast it to f32 first"),
    BAD("take_along", "q8_0[5,40] i32[2,40]", "axis=0", TERN_DTYPE, "take_along: operand x is q8_0, which is not accepted here: cast it to f32"),
    BAD("slice", "q4_k[2,9]", "start=[0,0] stop=[2,5] step=[1,1]", TERN_DTYPE, "slice: the last axis of q4_k[2,9] must stay as it is: cast it to f32 first"),
    BAD("packed_matmul", "f32[2,3] f32[2,4,16]", "n=20", TERN_SHAPE, "packed_matmul: inner sizes differ: [2,3] x [2,4,16]"),
    BAD("packed_matmul", "f32[2,3] f32[2,3,16]", "n=33", TERN_SHAPE, "packed_matmul: weight [2,3,16] does not hold 33 in tiles of 16"),
    BAD("packed_matmul", "f32[3] f32[1,3,16]", "n=3 transpose_a=true", TERN_SHAPE, "packed_matmul: a [3] has too few axes"),
    BAD("packed_matmul", "f16[2,3] f32[1,3,16]", "n=3", TERN_DTYPE, "packed_matmul: operand a is f16; accepted: f32"),
    BAD("packed_ternary_matmul", "i8[2,10] u8[1,2,64]", "n=7", TERN_SHAPE, "packed_ternary_matmul: weight [1,2,64] must be [tiles, 3, 64]"),
    BAD("packed_ternary_matmul", "i8[2,10] u8[1,3,64]", "n=70", TERN_SHAPE, "packed_ternary_matmul: weight [1,3,64] does not hold 70 in tiles of 64"),
    BAD("packed_ternary_matmul", "i8[2,10] u8[1,3,64]", "n=70 form=3", TERN_INVALID_ARGUMENT, "packed_ternary_matmul: form 3 is neither 4 nor 5"),

    /* moving data */
    BAD("concat", "f32[2,3] f32[3,3]", "axis=1", TERN_SHAPE, "concat: xs[1] [3,3] does not fit [2,3] but for axis 1"),
    BAD("concat", "f32[2,3] f32[2]", "", TERN_SHAPE, "concat: xs[1] [2] does not fit [2,3] but for axis 0"),
    BAD("concat", "f32[]", "", TERN_OUT_OF_RANGE, "concat: axis 0 is outside the rank 0 of []"),
    BAD("concat", "i8[0,9223372036854775807] i8[0,9223372036854775807]", "axis=1", TERN_OVERFLOW, "concat: axis 1 becomes too large"),
    BAD("concat", "f32[2] t2[2]", "", TERN_DTYPE, "concat: operand xs[1] is t2, which is not accepted here: cast it to i8 or use ternary_dequantise"),
    BAD("stack", "f32[2] f32[3]", "", TERN_SHAPE, "stack: xs[1] [3] differs from [2]"),
    BAD("stack", "f32[2]", "axis=2", TERN_OUT_OF_RANGE, "stack: new axis 2 is outside the rank 2 of the result"),
    BAD("stack", "f32[1,1,1,1,1,1,1,1]", "", TERN_SHAPE, "stack: the result would have more than 8 axes"),
    BAD("split", "f32[6]", "sizes=[]", TERN_INVALID_ARGUMENT, "split: sizes is empty"),
    BAD("split", "f32[6]", "sizes=[2,3]", TERN_SHAPE, "split: the sizes add up to 5, axis 0 of [6] does not"),
    BAD("split", "f32[6]", "sizes=[4,3]", TERN_SHAPE, "split: the sizes up to part 1 exceed axis 0 of [6]"),
    BAD("split", "f32[6]", "sizes=[7,-1]", TERN_SHAPE, "split: the sizes up to part 0 exceed axis 0 of [6]"),
    BAD("split", "f32[6]", "sizes=[-1,7]", TERN_SHAPE, "split: part 0 has the negative size -1"),
    BAD("pad", "f32[2,3]", "before=[1] after=[1]", TERN_SHAPE, "pad: 1 axes are padded of [2,3]"),
    BAD("pad", "f32[2]", "before=[1] after=[-1]", TERN_INVALID_ARGUMENT, "pad: the padding of axis 0 is negative"),
    BAD("pad", "f32[2]", "before=[9223372036854775807] after=[1]", TERN_OVERFLOW, "pad: axis 0 becomes too large"),
    BAD("gather", "f32[2] f32[2]", "", TERN_DTYPE, "gather: operand indices is f32; accepted: u8 i8 i32 i64"),
    BAD("gather", "f32[2] bool[2]", "", TERN_DTYPE, "gather: operand indices is bool; accepted: u8 i8 i32 i64"),
    BAD("gather", "f32[1,1,1,1,1] i32[1,1,1,1,1]", "", TERN_SHAPE, "gather: the result would have more than 8 axes"),
    BAD("gather", "f32[] i32[1]", "", TERN_OUT_OF_RANGE, "gather: axis 0 is outside the rank 0 of []"),
    BAD("take_along", "f32[2,3] i32[3,3]", "", TERN_SHAPE, "take_along: indices [3,3] do not fit x [2,3] but for axis 1"),
    BAD("scatter_add", "f32[5,3] i32[2,1] f32[2,3]", "", TERN_SHAPE, "scatter_add: indices [2,1] must have one axis"),
    BAD("scatter_add", "f32[5,3] i32[2] f32[2,4]", "", TERN_SHAPE, "scatter_add: updates [2,4] do not fit x [5,3] and indices [2]"),
    BAD("scatter_add", "f32[] i32[2] f32[2]", "", TERN_SHAPE, "scatter_add: x needs at least one axis"),
    BAD("one_hot", "f32[2]", "", TERN_DTYPE, "one_hot: operand indices is f32; accepted: u8 i8 i32 i64"),
    BAD("one_hot", "i8[2]", "classes=-1", TERN_INVALID_ARGUMENT, "one_hot: classes -1 is negative"),
    BAD("one_hot", "i8[2]", "dtype=t2", TERN_DTYPE, "one_hot: cannot give t2; accepted: bool u8 i8 i32 i64 f16 bf16 f32 f64"),
    BAD("one_hot", "i8[1,1,1,1,1,1,1,1]", "", TERN_SHAPE, "one_hot: the result would have more than 8 axes"),
    BAD("tril", "f32[2]", "", TERN_SHAPE, "tril: [2] is not a matrix: it needs two axes"),

    /* quantisation */
    BAD("quantise_rows", "f32[]", "", TERN_SHAPE, "quantise_rows: x needs at least one axis"),
    BAD("quantise", "f32[3] f32[2,1]", "", TERN_SHAPE, "quantise: scale [2,1] does not broadcast to [3]"),
    BAD("quantise", "f32[3] f32[2]", "", TERN_SHAPE, "quantise: scale [2] does not broadcast to [3]"),
    BAD("dequantise", "u8[3] f32[]", "", TERN_DTYPE, "dequantise: operand q is u8; accepted: i8 i32"),
    BAD("ternary_quantise", "f32[3]", "dtype=i8", TERN_DTYPE, "ternary_quantise: cannot give i8; accepted: t2 t5"),
    BAD("ternary_quantise", "f32[3] f32[1]", "", TERN_SHAPE, "ternary_quantise: scale [1] must have rank 0"),
    BAD("ternary_dequantise", "i8[3] f32[]", "", TERN_DTYPE, "ternary_dequantise: operand t is i8; accepted: t2 t5"),
    BAD("ternary_dequantise", "t2[3] f32[3]", "", TERN_SHAPE, "ternary_dequantise: scale [3] must have rank 0"),

    /* transformers */
    BAD("rope", "f32[4,64] i32[4]", "", TERN_SHAPE, "rope: x [4,64] must be [rows, heads, d]"),
    BAD("rope", "f32[4,8,64] i32[5]", "", TERN_SHAPE, "rope: positions [5] does not fit the rows of [4,8,64]"),
    BAD("rope", "f32[4,8,64] f32[4]", "", TERN_DTYPE, "rope: operand positions is f32; accepted: u8 i8 i32 i64"),
    BAD("rope", "f32[4,8,63] i32[4]", "", TERN_SHAPE, "rope: dims 63 must be even: they are rotated in pairs"),
    BAD("rope", "f32[4,8,64] i32[4]", "dims=66", TERN_OUT_OF_RANGE, "rope: dims 66 is outside 0..64, the last axis of [4,8,64]"),
    BAD("rope", "f32[4,8,64] i32[4]", "theta=0", TERN_INVALID_ARGUMENT, "rope: theta 0 must be positive and finite"),
    BAD("attention", "f32[5,16] f32[2,9,4,16] f32[2,9,4,16] i32[5] i32[5]", "", TERN_SHAPE, "attention: q [5,16] must be [rows, heads, d]"),
    BAD("attention", "f32[5,8,16] f32[9,4,16] f32[9,4,16] i32[5] i32[5]", "", TERN_SHAPE, "attention: k [9,4,16] must be [slots, capacity, kv_heads, d]"),
    BAD("attention", "f32[5,8,16] f32[2,9,4,16] f32[2,8,4,16] i32[5] i32[5]", "", TERN_SHAPE, "attention: k [2,9,4,16] and v [2,8,4,16] differ"),
    BAD("attention", "f32[5,8,16] f32[2,9,4,8] f32[2,9,4,8] i32[5] i32[5]", "", TERN_SHAPE, "attention: head sizes differ: q [5,8,16], k [2,9,4,8]"),
    BAD("attention", "f32[5,8,16] f32[2,9,3,16] f32[2,9,3,16] i32[5] i32[5]", "", TERN_SHAPE, "attention: 8 heads of q cannot share 3 heads of k evenly"),
    BAD("attention", "f32[5,8,16] f32[2,9,0,16] f32[2,9,0,16] i32[5] i32[5]", "", TERN_SHAPE, "attention: 8 heads of q cannot share 0 heads of k evenly"),
    BAD("attention", "f32[5,8,16] f32[2,9,4,16] f32[2,9,4,16] i32[4] i32[5]", "", TERN_SHAPE, "attention: slots [4] does not fit the rows of [5,8,16]"),
    BAD("attention", "f32[5,8,16] i8[2,9,4,16] f32[2,9,4,16] i32[5] i32[5]", "", TERN_DTYPE, "attention: operand k is i8; accepted: f16 bf16 f32 f64, or i8 with scales"),
    BAD("attention", "f32[5,8,16] i8[2,9,4,16] f16[2,9,4,16] i32[5] i32[5] f32[2,9,4,1] f32[2,9,4,1]", "", TERN_DTYPE, "attention: operand v is f16; accepted: i8 where there are scales"),
    BAD("attention", "f32[5,8,16] i8[2,9,4,16] i8[2,9,4,16] i32[5] i32[5] f32[2,9,4,1] f32[2,9,4]", "", TERN_SHAPE, "attention: v_scale [2,9,4] does not fit k [2,9,4,16]: it must be [2,9,4,1]"),
    BAD("attention", "f32[5,8,16] i8[2,9,4,16] i8[2,9,4,16] i32[5] i32[5] f32[2,9,4,1]", "", TERN_INVALID_ARGUMENT, "attention: v_scale is missing: k and v are int8 both"),
    BAD("attention", "f32[5,8,16] f32[2,9,4,16] f32[2,9,4,16] i32[5] i32[5]", "scale=inf", TERN_INVALID_ARGUMENT, "attention: scale inf must be finite"),
    BAD("overwrite", "f32[3] f32[2,3]", "", TERN_SHAPE, "overwrite: x [2,3] does not broadcast to state [3]"),
    BAD("overwrite", "t2[4,6] i8[4,1]", "", TERN_DTYPE, "overwrite: x [4,1] does not have the whole rows of the t2 state [4,6]"),
    BAD("write_slice", "f32[4,5] f32[4,6] i64[2]", "", TERN_SHAPE, "write_slice: x [4,6] does not fit into state [4,5]"),
    BAD("write_slice", "f32[4,5] f32[5] i64[2]", "", TERN_SHAPE, "write_slice: x [5] does not fit into state [4,5]"),
    BAD("write_slice", "f32[4,5] f32[1,5] i64[1]", "", TERN_SHAPE, "write_slice: at [1] must have one entry for each axis of state [4,5]"),
    BAD("write_slice", "f32[4,5] f32[1,5] f32[2]", "", TERN_DTYPE, "write_slice: operand at is f32; accepted: u8 i8 i32 i64"),
    BAD("write_slice", "t2[4,5] i8[1,5] i64[2]", "", TERN_DTYPE, "write_slice: operand state is t2, which is not accepted here: cast it to i8 or use ternary_dequantise"),
    BAD("write_rows", "f32[4] f32[4] i32[4] i32[4]", "", TERN_SHAPE, "write_rows: state [4] must be [slots, capacity, ...]"),
    BAD("write_rows", "f32[2,9,4] f32[5,3] i32[5] i32[5]", "", TERN_SHAPE, "write_rows: the rows of x [5,3] are not those of state [2,9,4]"),
    BAD("write_rows", "f32[2,9,4] f32[5,4] i32[5] i32[6]", "", TERN_SHAPE, "write_rows: positions [6] does not fit the rows of [5,4]"),

    /* images */
    BAD("conv2d", "f32[4,8,9] f32[6,4,3,3]", "", TERN_SHAPE, "conv2d: x [4,8,9] must be [n, c, h, w]"),
    BAD("conv2d", "f32[4,8,9] f32[6,4,3,3]", "nhwc=true", TERN_SHAPE, "conv2d: x [4,8,9] must be [n, h, w, c]"),
    BAD("conv2d", "f32[1,4,8,9] f32[4,3,3]", "", TERN_SHAPE, "conv2d: weight [4,3,3] must be [out, c / groups, kh, kw]"),
    BAD("conv2d", "f32[1,4,8,9] f32[6,3,3,3]", "", TERN_SHAPE, "conv2d: weight [6,3,3,3] does not fit the 4 channels of x [1,4,8,9] in 1 groups"),
    BAD("conv2d", "f32[1,4,8,9] f32[6,4,3,3]", "groups=3", TERN_SHAPE, "conv2d: 3 groups do not divide the channels of x [1,4,8,9] and weight [6,4,3,3]"),
    BAD("conv2d", "f32[1,4,8,9] f32[6,4,3,3]", "groups=0", TERN_SHAPE, "conv2d: 0 groups do not divide the channels of x [1,4,8,9] and weight [6,4,3,3]"),
    BAD("conv2d", "f32[1,4,8,9] f32[6,4,3,3] f32[4]", "", TERN_SHAPE, "conv2d: bias [4] does not fit weight [6,4,3,3]"),
    BAD("conv2d", "f32[1,4,8,9] f32[6,4,3,3]", "stride_h=0", TERN_INVALID_ARGUMENT, "conv2d: stride_h 0 must be at least 1"),
    BAD("conv2d", "f32[1,4,8,9] f32[6,4,3,3]", "dilation_w=0", TERN_INVALID_ARGUMENT, "conv2d: dilation_w 0 must be at least 1"),
    BAD("conv2d", "f32[1,4,8,9] f32[6,4,3,3]", "pad_w=-1", TERN_INVALID_ARGUMENT, "conv2d: pad_w -1 is negative"),
    BAD("conv2d", "f32[1,4,8,9] f32[6,4,3,3]", "dilation_h=4", TERN_SHAPE, "conv2d: kernel_h 3 with dilation 4 does not fit a padded size of 8"),
    BAD("conv2d", "f32[1,4,8,9] f32[6,4,0,3]", "", TERN_INVALID_ARGUMENT, "conv2d: kernel_h 0 must be at least 1"),
    BAD("conv2d", "f32[1,4,8,9] f32[6,4,3,3]", "pad_h=9223372036854775807", TERN_OVERFLOW, "conv2d: the window along h is too large"),
    BAD("max_pool2d", "f32[4,8,9]", "", TERN_SHAPE, "max_pool2d: x [4,8,9] must be [n, c, h, w]"),
    BAD("max_pool2d", "f32[1,4,8,9]", "pad_h=2", TERN_INVALID_ARGUMENT, "max_pool2d: pad_h 2 is more than half of kernel_h 2"),
    BAD("max_pool2d", "f32[1,4,0,9]", "pad_h=1", TERN_SHAPE, "max_pool2d: x [1,4,0,9] has no pixels"),
    BAD("avg_pool2d", "f32[1,4,1,9]", "", TERN_SHAPE, "avg_pool2d: kernel_h 2 with dilation 1 does not fit a padded size of 1"),
};
/* clang-format on */

TEST(bad_calls_say_what_is_wrong)
{
    for (size_t i = 0; i < sizeof BAD_ROWS / sizeof BAD_ROWS[0]; i++) {
        const bad_row *row = &BAD_ROWS[i];
        parsed_call c;
        if (!infer_parse(row->op, row->in, row->attrs, &c))
            harness_fail(__FILE__, row->line, "the test's own text is wrong");
        else if (harness_check_status(tern__op_infer(&c.call, c.operands), row->status, __FILE__, row->line,
                                      row->op))
            harness_check_str(tern_last_error(), row->message, __FILE__, row->line, row->op);
    }
}

static tern_status infer_sum(const tern__attr *attrs)
{
    const tern__type x = {.dtype = TERN_F32, .rank = 1, .shape = {3}}, *in = &x;
    tern__type out;
    tern_dtype operands[1];
    return tern__op_infer(&(tern__call){&tern__ops[TERN__OP_sum], 1, 1, &in, attrs, &out}, operands);
}

TEST(attributes_that_no_text_can_say)
{
    CHECK_STATUS(infer_sum((tern__attr[]){{.count = UINT32_MAX}, {.i = 0}}), TERN_INVALID_ARGUMENT);
    CHECK_STR(tern_last_error(), "sum: the count of axes is negative");
    CHECK_STATUS(infer_sum((tern__attr[]){{.ints = NULL, .count = 1}, {.i = 0}}), TERN_INVALID_ARGUMENT);
    CHECK_STR(tern_last_error(), "sum: axes is NULL");
    CHECK_STATUS(infer_sum((tern__attr[]){{.ints = NULL}, {.i = 2}}), TERN_INVALID_ARGUMENT);
    CHECK_STR(tern_last_error(), "sum: keepdims is 2, not 0 or 1");

    const tern__type x = {.dtype = TERN_F32, .rank = 0}, *in = &x;
    tern__type out[2];
    tern_dtype operands[1];
    tern__attr dtype = {.i = TERN_DTYPE_COUNT};
    CHECK_STATUS(tern__op_infer(&(tern__call){&tern__ops[TERN__OP_cast], 1, 1, &in, &dtype, out}, operands),
                 TERN_INVALID_ARGUMENT);
    CHECK_STR(tern_last_error(), "cast: dtype 15 is not a dtype");
    CHECK_STATUS(tern__op_infer(&(tern__call){&tern__ops[TERN__OP_exp], 1, 2, &in, NULL, out}, operands),
                 TERN_INVALID_ARGUMENT);
    CHECK_STR(tern_last_error(), "exp: has 1 results, not 2");
}

/* ---- all dtypes -------------------------------------------------------------------------------------------- */

static bool message_names_op(const tern__op *op)
{
    size_t length = strlen(op->name);
    return strncmp(tern_last_error(), op->name, length) == 0 && tern_last_error()[length] == ':';
}

/* Either the dtypes are refused by name, or, once cast as asked, they need no further cast and give the same. */
static void check_dtypes(const good_row *row, parsed_call *c)
{
    parsed_call again;
    char first[CALL_TEXT], second[CALL_TEXT];
    tern_status status = tern__op_infer(&c->call, c->operands);
    if (status == TERN_DTYPE) {
        if (!message_names_op(c->call.op))
            harness_fail(__FILE__, row->line, "the message is '%s'", tern_last_error());
        return;
    }
    if (!harness_check_ok(status, __FILE__, row->line, row->op))
        return;
    again = *c;
    again.call.in = again.in;
    again.call.out = again.out;
    again.call.attrs = again.attrs;
    for (int i = 0; i < c->call.n_in; i++) {
        again.types[i].dtype = c->operands[i];
        again.in[i] = &again.types[i];
    }
    if (!harness_check_ok(tern__op_infer(&again.call, again.operands), __FILE__, row->line, row->op))
        return;
    harness_check_str(infer_operands_text(&again, second), infer_operands_text(c, first), __FILE__, row->line,
                      "casts");
    harness_check_str(infer_results_text(&again, second), infer_results_text(c, first), __FILE__, row->line,
                      "results");
}

TEST(all_dtypes_are_taken_or_refused)
{
    for (int r = 0; r < GOOD_COUNT; r++) {
        parsed_call c;
        if (!infer_parse(GOOD_ROWS[r].op, GOOD_ROWS[r].in, GOOD_ROWS[r].attrs, &c))
            continue; /* good_calls has said so */
        int64_t combinations = 1;
        for (int i = 0; i < c.call.n_in; i++)
            combinations *= TERN_DTYPE_COUNT;
        /* five operands have 161,051; a stride that is prime to 11 visits them evenly */
        for (int64_t k = 0; k<combinations; k += combinations> 2000 ? 101 : 1) {
            int64_t rest = k;
            for (int i = 0; i < c.call.n_in; i++, rest /= TERN_DTYPE_COUNT)
                c.types[i].dtype = (tern_dtype)(rest % TERN_DTYPE_COUNT);
            check_dtypes(&GOOD_ROWS[r], &c);
            if (harness_failed())
                return;
        }
    }
}

/* ---- random calls ------------------------------------------------------------------------------------------ */

typedef struct dice {
    uint64_t seed, at;
} dice;

static uint64_t roll(dice *d)
{
    uint32_t words[4];
    tern__philox(d->seed, d->at++, words);
    return words[0];
}

static int64_t pick(dice *d, const int64_t *from, size_t count)
{
    return from[roll(d) % count];
}

/* Few ops take blocks: they come up now and then. */
static tern_dtype random_dtype(dice *d)
{
    return (tern_dtype)(roll(d) % (roll(d) % 8 ? TERN_Q8_0 : TERN_DTYPE_COUNT));
}

/* Sizes that often fit together, and sometimes ones that overflow. */
static tern__type random_type(dice *d)
{
    static const int64_t SIZES[] = {0, 1, 1, 2, 2, 2, 3, 4, 4, 4, 8},
                         LARGE[] = {1 << 20, INT64_C(1) << 31, INT64_C(1) << 40};
    tern__type type;
    int64_t shape[TERN__MAX_RANK];
    int rank = (int)(roll(d) % (roll(d) % 4 ? 5 : TERN__MAX_RANK + 1));
    for (int i = 0; i < rank; i++)
        shape[i] = roll(d) % 64 ? pick(d, SIZES, sizeof SIZES / sizeof *SIZES)
                                : pick(d, LARGE, sizeof LARGE / sizeof *LARGE);
    if (tern__type_make("random", random_dtype(d), rank, shape, &type) != TERN_OK)
        type = (tern__type){.dtype = TERN_F32, .rank = 0};
    return type;
}

static void random_attrs(dice *d, parsed_call *c)
{
    static const int64_t VALUES[] = {-3, -2, -1, -1, 0, 0, 0,         1,         1,
                                     1,  2,  2,  3,  4, 8, INT64_MIN, INT64_MAX, INT64_C(1) << 40};
    static const double FLOATS[] = {0, -0.0, 1, -1, 0.5, 1e-5, 1e300, -1e300, INFINITY, -INFINITY, NAN};
    uint32_t count = (uint32_t)(roll(d) % 5);
    for (int i = 0; i < c->call.op->n_attrs; i++) {
        tern__attr *attr = &c->attrs[i];
        switch (c->call.op->attrs[i].kind) {
        case TERN__ATTR_INT:
            attr->i = pick(d, VALUES, sizeof VALUES / sizeof *VALUES);
            break;
        case TERN__ATTR_FLOAT:
            attr->f = FLOATS[roll(d) % (sizeof FLOATS / sizeof *FLOATS)];
            break;
        case TERN__ATTR_BOOL:
            attr->i = (int64_t)(roll(d) % 2);
            break;
        case TERN__ATTR_DTYPE:
            attr->i = (int64_t)(roll(d) % TERN_DTYPE_COUNT);
            break;
        case TERN__ATTR_TEXT:
            *attr = (tern__attr){.text = "cpu", .count = 3};
            break;
        case TERN__ATTR_BODY: /* test_region.c */
            break;
        case TERN__ATTR_INTS:
            *attr = (tern__attr){.ints = c->ints[i], .count = count};
            for (uint32_t k = 0; k < count; k++)
                c->ints[i][k] = pick(d, VALUES, sizeof VALUES / sizeof *VALUES);
            break;
        }
    }
}

static void random_call(dice *d, parsed_call *c)
{
    const tern__op *op = c->call.op;
    c->call.n_in = op->max_in < 0 ? 1 + (int)(roll(d) % 3)
                                  : op->max_in - (int)(roll(d) % (uint64_t)(op->max_in - op->min_in + 1));
    for (int i = 0; i < c->call.n_in; i++) {
        c->types[i] = i > 0 && roll(d) % 2 ? c->types[0] : random_type(d);
        c->in[i] = &c->types[i];
    }
    random_attrs(d, c);
    c->call.in = c->in;
    c->call.attrs = c->attrs;
    c->call.out = c->out;
    c->call.n_out = tern__op_results(op, c->attrs);
}

/* What must hold of any call: a sound answer, or a sentence. Returns whether it was accepted. */
static bool check_random_call(parsed_call *c)
{
    const tern__op *op = c->call.op;
    if (tern__op_infer(&c->call, c->operands) != TERN_OK) {
        if (!message_names_op(op))
            harness_fail(__FILE__, __LINE__, "%s: the message is '%s'", op->name, tern_last_error());
        return false;
    }
    for (int i = 0; i < c->call.n_out; i++) {
        tern__type made;
        harness_check_ok(tern__type_make(op->name, c->out[i].dtype, c->out[i].rank, c->out[i].shape, &made),
                         __FILE__, __LINE__, op->name);
    }
    double cost = op->cost(&c->call, op->cost_factor), bytes = tern__op_bytes(&c->call);
    if (op->work(&c->call) < 0 || !(cost >= 0) || !(bytes >= 0))
        harness_fail(__FILE__, __LINE__, "%s: work %lld, cost %g, bytes %g", op->name,
                     (long long)op->work(&c->call), cost, bytes);
    tern__layout layout, view;
    if (op->flags & TERN__VIEW) {
        tern__layout_contiguous(c->in[0], &layout);
        if (tern__op_view(op, c->attrs, c->in[0], &layout, &c->out[0], &view) &&
            !tern__layout_fits(&c->out[0], &view, tern__type_bytes(c->in[0])))
            harness_fail(__FILE__, __LINE__, "%s: the view leaves its storage", op->name);
    }
    return true;
}

TEST(random_calls_are_answered)
{
    dice d = {.seed = harness_seed()};
    parsed_call c;
    int accepted[TERN__OP_COUNT] = {0}, barren = 0;
    for (int round = 0; round < 4000 && !harness_failed(); round++) {
        for (int op = 0; op < TERN__OP_COUNT; op++) {
            memset(&c, 0, sizeof c);
            c.call.op = &tern__ops[op];
            random_call(&d, &c);
            accepted[op] += check_random_call(&c);
        }
    }
    /* The generator must hit: ops with related operands may stay without luck, most may not, and packed constants
     * have shapes that nobody guesses. */
    for (int op = 0; op < TERN__OP_COUNT; op++)
        barren += accepted[op] == 0 && !tern__op_is_packed((tern__opcode)op);
    if (barren > 8)
        for (int op = 0; op < TERN__OP_COUNT; op++)
            if (accepted[op] == 0)
                printf("  no random call of %s was accepted\n", tern__ops[op].name);
    CHECK(barren <= 8);
}
