/* common/out.h - --out: write standard output to a file that appears when it is complete. */
#ifndef COMMON_OUT_H
#define COMMON_OUT_H
#include <infer/status.h>

/* Redirect standard output to a temporary file in the directory of path; out_end renames it to path. Call
 * it at most once.
 * INFER_EIO  the temporary file cannot be created, or path is not a regular file; INFER_ENOMEM */
int out_open(const char *path, infer_error *err);
/* Check that an input (from; "-": standard input; NULL: none) is not the output file at path. option:
 * prefix of path in the message, "--out " or "".
 * INFER_EINVAL  they are the same file; err names both */
int out_is_not(const char *option, const char *path, const char *from, infer_error *err);
/* Call say_end. After out_open also publish the file: sync and rename it if the exit code means that the
 * output is complete, otherwise remove it. Returns the exit code. */
int out_end(int code);
#endif
