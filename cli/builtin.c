/* builtin.c - the bytes of the built-in model: read-only data of the program, put there by the assembler. */
#include "builtin.h"

#ifdef BUILTIN_PATH

#define TEXT_OF(x) #x
#define TEXT(x) TEXT_OF(x)
#define SYMBOL(name) TEXT(__USER_LABEL_PREFIX__) #name

#ifdef __APPLE__
#define READ_ONLY "__TEXT,__const"
#else
#define READ_ONLY ".rodata.tern_builtin,\"a\",%progbits"
#endif

/* On a line of the cache, so that tensors can be used in place. */
/* clang-format off */
__asm__(".pushsection " READ_ONLY "\n"
        ".globl " SYMBOL(builtin_begin) "\n"
        ".globl " SYMBOL(builtin_end) "\n"
        ".balign 64\n"
        SYMBOL(builtin_begin) ":\n"
        ".incbin \"" BUILTIN_PATH "\"\n"
        SYMBOL(builtin_end) ":\n"
        ".byte 0\n"
        ".popsection\n");
/* clang-format on */

extern const unsigned char builtin_begin[], builtin_end[];

const char *builtin_name(void)
{
    return BUILTIN_NAME;
}

tern_status builtin_open(tern_model_file **out)
{
    return tern_model_file_open_memory(builtin_begin, (size_t)(builtin_end - builtin_begin),
                                       "built-in " BUILTIN_NAME, NULL, out);
}

#else

const char *builtin_name(void)
{
    return NULL;
}

tern_status builtin_open(tern_model_file **out)
{
    (void)out;
    return TERN_NOT_FOUND;
}

#endif
