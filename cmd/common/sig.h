/* common/sig.h - signals.
 *
 * SIGINT, SIGTERM and SIGPIPE keep their disposition: they end a program, or an inherited SIG_IGN stays
 * in effect. No output is lost: it is written unbuffered (say_out, infer_records), and files are renamed
 * when they are complete. SIGBUS, raised if a mapped file is truncated, becomes an error message and
 * exit code 1. */
#ifndef COMMON_SIG_H
#define COMMON_SIG_H
/* Install the handlers. Strings passed to the functions of this file are not copied; NULL clears a
 * setting. */
void sig_init(const char *program);
/* Set the file that the message about SIGBUS names. */
void sig_mapped(const char *path);
/* Set a file to remove if a signal ends the program. */
void sig_unfinished(const char *path);
/* Set a line to print if a signal ends the program. */
void sig_last_words(const char *line);
#endif
