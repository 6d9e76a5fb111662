/* job/bad_words.h - texts that are never generated */
#ifndef JOB_BAD_WORDS_H
#define JOB_BAD_WORDS_H
#include "job/job.h"

enum { JOB_BAD_WORDS = 1024, JOB_BAD_WORD_BYTES = 1024 }; /* most words; most bytes of a word */

/* Encode j->j.bad_words into the sampling options of j.  Fails as infer_encode. */
int job_ban_words(struct job *j, infer_error *err);
#endif
