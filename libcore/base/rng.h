/* base/rng.h - a stateless random number generator: value i of stream (seed, position).
 * Philox4x32-10, Salmon+ 2011 */
#ifndef BASE_RNG_H
#define BASE_RNG_H
#include <stddef.h>
#include <stdint.h>
#include <infer/status.h>

/* Compute one Philox4x32-10 block. */
void rng_philox(uint32_t out[4], const uint32_t counter[4], const uint32_t key[2]);
/* Return four words of the stream: counter = position, key = seed. */
void rng_block(uint32_t out[4], uint64_t seed, uint64_t position);
double rng_unit(uint64_t seed, uint64_t position); /* uniform in [0, 1): 53 bits of words 0, 1 */
/* Return a 64-bit hash: splitmix64 over 8-byte words and the length. */
uint64_t rng_hash(uint64_t seed, const void *bytes, size_t n);
int rng_system(uint64_t *out, infer_error *err); /* from getrandom(2) */
#endif
