/* plan/efficiency.h (private) - the fraction of a described machine's limits that engines reach */
#ifndef PLAN_EFFICIENCY_H
#define PLAN_EFFICIENCY_H
#include <infer/machine.h>

struct efficiency {
	double decode, prefill; /* fraction of the limit; 0: unknown */
	double layer_us;        /* constant part of a step for each layer */
};
/* Return what the description says, or else what other machines of the maker reach. */
struct efficiency efficiency_of_gpu(const struct infer_gpu *g);
struct efficiency efficiency_of_host(const struct infer_machine *m);

/* The link between accelerators: of each, one direction. */
struct link {
	double gb_s; /* 0: unknown */
	double us;   /* latency of an exchange */
};
struct link link_of(const struct infer_gpu *g);
#endif
