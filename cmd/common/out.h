/* common/out.h - standard output as a file that gets its name only when it is complete. */
#ifndef COMMON_OUT_H
#define COMMON_OUT_H
#include <infer/status.h>

/* Make standard output a temporary file beside path, which out_end renames.  Until then path keeps
 * its old contents.  At most once in a program.
 * INFER_EIO  cannot be created, or path is not a regular file; INFER_ENOMEM */
int out_open(const char *path, infer_error *err);
/* INFER_EINVAL  `from`, a file that is read ("-": standard input; NULL: none), is the file at path;
 * names both.  option: that names path; "": it has none, else with a blank behind it */
int out_is_not(const char *option, const char *path, const char *from, infer_error *err);
/* say_end.  After out_open also sync the file and rename it, if code says that the output is
 * complete, or else remove it. */
int out_end(int code);
#endif
