/* runner/embedding.h (private) - the result of a sample that has no text */
#ifndef RUNNER_EMBEDDING_H
#define RUNNER_EMBEDDING_H
#include <infer/api.h>

/* Set the embedding of c: the first values of v, as many as the job wants, divided by their L2 norm
 * unless the job has no_normalize.  If the job ranks texts, set the score: sigmoid(v[0]), or v[0]
 * with no_normalize.
 * v  f32 [n_embd], changed in place; borrowed by c */
void runner_end_embedding(const infer_job *j, float *v, int32_t n_embd, struct infer_choice *c);
#endif
