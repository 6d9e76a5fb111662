/* runner/embedding.h (private) - the result of a sample that has no text */
#ifndef RUNNER_EMBEDDING_H
#define RUNNER_EMBEDDING_H
#include <infer/api.h>

/* Set c->embedding to v, cut to the dimensions of the job and, unless the job forbids it,
 * divided by its L2 norm.  Of a rank: to the score v[0], through the logistic function unless the
 * job forbids it.
 * v  f32 [n_embd], changed in place; borrowed by c */
void runner_end_embedding(const infer_job *j, float *v, int32_t n_embd, struct infer_choice *c);
#endif
