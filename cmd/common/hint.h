/* common/hint.h - names of models in the forms of other programs. */
#ifndef COMMON_HINT_H
#define COMMON_HINT_H
#include <infer/status.h>

/* Refuse a reference that no file has and that looks like a name of another program: ORG/REPO, NAME:TAG, an address of
 * the hub.  The message has the line to type.
 * INFER_EIO  such a name; INFER_OK: a file, or nothing that is known */
int model_hint(const char *ref, infer_error *err);
#endif
