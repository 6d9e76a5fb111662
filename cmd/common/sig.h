/* common/sig.h - signals.  SIGINT, SIGTERM and SIGPIPE keep their disposition, so they end a
 * program by default and an inherited SIG_IGN stays in effect: results are written at once
 * (say_out, infer_records), and files get their name only when they are complete.  SIGBUS, which
 * a mapped file raises when it is truncated, becomes one line and exit code 1. */
#ifndef COMMON_SIG_H
#define COMMON_SIG_H
void sig_init(const char *program); /* kept */
void sig_mapped(const char *path);  /* the file to name in the message, not copied; NULL: none */
/* A file to remove if a signal ends the program, not copied; NULL: none any more. */
void sig_unfinished(const char *path);
/* A line to say if a signal ends the program, not copied; NULL: none any more. */
void sig_last_words(const char *line);
#endif
