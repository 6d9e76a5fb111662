/* common/hint.h - model names in the notation of other programs. */
#ifndef COMMON_HINT_H
#define COMMON_HINT_H
#include <infer/status.h>

/* Refuse a model reference that is not a file but a name in another program's notation: ORG/REPO,
 * NAME:TAG, a URL of the hub. The message says what to type instead: `before` ("-m ", a command)
 * and a reference.
 * INFER_EIO  the reference is such a name */
int model_hint(const char *ref, const char *before, infer_error *err);
#endif
