/* builtin.h - the model that is part of the program, if it was built with one (cmake/builtin.cmake). */
#ifndef TERN_CLI_BUILTIN_H
#define TERN_CLI_BUILTIN_H

#include <tern/model_file.h>

/* "shakespeare"; NULL: no model is built in. Static. */
const char *builtin_name(void);

/* Opens it where it is. TERN_NOT_FOUND if there is none. */
tern_status builtin_open(tern_model_file **out);

#endif
