"""The dtype rules of docs/ops.md, written down a second time: what each casts its operands to and gives."""
from values import FLOATS, PACKED, UNPACKED, is_float, is_int, is_packed, promote


class Refused(Exception):
    """The rule does not accept these types."""


def accept(ok):
    if not ok:
        raise Refused()


def unpacked(types):
    accept(not any(is_packed(t) for t in types))


def common(types):
    unpacked(types)
    result = types[0]
    for t in types[1:]:
        result = promote(result, t)
    return result


def as_float(t):
    return t if is_float(t) else "f32"


def as_number(t):
    return "i32" if t == "bool" else t


def one(change=lambda t: t, gives=None, packed=False, results=1):
    def rule(types, attributes):
        if not packed:
            unpacked(types)
        to = change(types[0])
        return [to], [gives or to] * results
    return rule


def several(change=lambda t: t, gives=None):
    def rule(types, attributes):
        to = change(common(types))
        return [to] * len(types), [gives or to]
    return rule


def integer(types, attributes):
    accept(types[0] == "bool" or is_int(types[0]))
    return types[:1], types[:1]


def promote_integer(types, attributes):
    accept(all(t == "bool" or is_int(t) for t in types))
    return several()(types, attributes)


def logical(types, attributes):
    unpacked(types)
    return ["bool"] * len(types), ["bool"]


def where(types, attributes):
    unpacked(types[:1])
    to = common(types[1:])
    return ["bool", to, to], [to]


def values_and_index(types, attributes):
    unpacked(types)
    return types[:1], [types[0], "i64"]


def gather(types, attributes):
    unpacked(types[:1])
    accept(is_int(types[1]))
    return [types[0], "i64"], types[:1]


def scatter_add(types, attributes):
    to = as_number(common([types[0], types[2]]))
    accept(is_int(types[1]))
    return [to, "i64", to], [to]


def one_hot(types, attributes):
    accept(is_int(types[0]) and attributes["dtype"] not in PACKED)
    return ["i64"], [attributes["dtype"]]


def ternary_matmul(types, attributes):
    accept(types[0] == "i8" and is_packed(types[1]))
    unpacked(types[2:])
    return types[:2] + ["f32"] * len(types[2:]), ["f32" if len(types) > 2 else "i32"]


def linear(types, attributes):
    if types[1] == "i8":
        accept(types[0] == "i8")
        return types, ["i32"]
    unpacked(types[:1])
    accept(types[1] in ("f16", "bf16", "f32"))
    return ["f32", types[1]], ["f32"]


def quantise_given(types, attributes):
    unpacked(types)
    return ["f32", "f32"], ["i8"]


def dequantise(types, attributes):
    accept(types[0] in ("i8", "i32"))
    unpacked(types[1:])
    return [types[0], "f32"], ["f32"]


def quantise(types, attributes):
    unpacked(types)
    return ["f32"], ["i8", "f32"]


def ternary_quantise(types, attributes):
    unpacked(types)
    accept(attributes.get("dtype", "t2") in PACKED)
    return ["f32"] * len(types), [attributes.get("dtype", "t2"), "f32"]


def ternary_dequantise(types, attributes):
    accept(is_packed(types[0]))
    unpacked(types[1:])
    return [types[0], "f32"], ["f32"]


def rope(types, attributes):
    unpacked(types[:1])
    accept(is_int(types[1]))
    return [as_float(types[0]), "i32"], [as_float(types[0])]


def attention(types, attributes):
    unpacked(types[:1])
    scaled = len(types) > 5
    accept(all(t == "i8" if scaled else is_float(t) for t in types[1:3]) and all(is_int(t) for t in types[3:5]))
    unpacked(types[5:])
    return [as_float(types[0])] + types[1:3] + ["i32", "i32"] + ["f32"] * (len(types) - 5), [as_float(types[0])]


def overwrite(types, attributes):
    return [types[0], types[0]], types[:1]


def write_to(index_type):
    def rule(types, attributes):
        unpacked(types[:2])
        accept(all(is_int(t) for t in types[2:]))
        return [types[0], types[0]] + [index_type] * (len(types) - 2), types[:1]
    return rule


def from_attribute(accepted):
    def rule(types, attributes):
        dtype = attributes.get("dtype", "f32")
        accept(dtype in accepted)
        return list(types), [str(dtype)]
    return rule


RULES = {
    "attr_dtype": from_attribute(UNPACKED + PACKED),
    "attr_dtype_number": from_attribute(UNPACKED),
    "attr_dtype_float": from_attribute(FLOATS),
    "same": one(packed=True),
    "same_unpacked": one(),
    "number": one(as_number),
    "integer": integer,
    "floating": one(as_float),
    "floating_all": several(as_float),
    "sum": one(lambda t: t if is_float(t) else "i64"),
    "test": one(gives="bool"),
    "logical": logical,
    "promote": several(),
    "promote_number": several(as_number),
    "promote_float": several(as_float),
    "promote_integer": promote_integer,
    "compare": several(gives="bool"),
    "where": where,
    "index": one(gives="i64"),
    "values_and_index": values_and_index,
    "gather": gather,
    "take_along": gather,
    "linear": linear,
    "scatter_add": scatter_add,
    "one_hot": one_hot,
    "ternary_matmul": ternary_matmul,
    "quantise": quantise,
    "quantise_given": quantise_given,
    "dequantise": dequantise,
    "ternary_quantise": ternary_quantise,
    "ternary_dequantise": ternary_dequantise,
    "rope": rope,
    "attention": attention,
    "overwrite": overwrite,
    "write_slice": write_to("i64"),
    "write_rows": write_to("i32"),
}


def apply_rule(rule, types, attributes):
    """([what each operand is cast to], [dtype of each result]); Refused if the types are not accepted."""
    return RULES[rule](list(types), attributes)
