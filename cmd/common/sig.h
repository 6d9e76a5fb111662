/* common/sig.h - signals.
 *
 * SIGINT, SIGTERM and SIGPIPE keep what they came with, so they end a program by themselves and an
 * inherited SIG_IGN holds: whatever was produced is written already (say_out, infer_writer) and
 * files get their name only when whole.
 * SIGBUS is what a mapped file becomes when it is cut short under us: one line and exit code 1. */
#ifndef COMMON_SIG_H
#define COMMON_SIG_H
void sig_init(const char *program); /* kept */
void sig_mapped(const char *path);  /* the file to name, kept until the next call; NULL: none */
#endif
