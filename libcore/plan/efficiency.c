/* plan/efficiency.c - the fraction of a described machine's limits that engines reach
 *
 * A step takes bytes / (bandwidth * decode) + layers * layer_us.  The constants are least squares of
 * relative errors over the rows of tests/golden/plans/pairs.tsv that are marked fit
 * (scripts/fit-plans.py). */
#include "plan/efficiency.h"

#include <string.h>

static const struct maker {
	const char *name; /* in the name of the accelerator */
	struct efficiency is;
} makers[] = {
	{ "NVIDIA", { 0.94, 0.6, 96 } },
	{ "Apple", { 0.84, 0.6, 176 } },
	/* no rows: assumed to be no better than the last */
	{ "AMD", { 0.84, 0.4, 176 } },
	{ "Intel", { 0.84, 0.4, 176 } },
};
static const struct efficiency host = { 0.50, 0.35, 0 };

struct efficiency efficiency_of_gpu(const struct infer_gpu *g)
{
	struct efficiency e = { .decode = 0 };

	for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
		if (strstr(g->name, makers[i].name)) {
			e = makers[i].is;
			break;
		}
	if (g->decode_part > 0) { /* of the whole step */
		e.decode = g->decode_part;
		e.layer_us = 0;
	}
	if (g->prefill_part > 0)
		e.prefill = g->prefill_part;
	return e;
}

struct efficiency efficiency_of_host(const struct infer_machine *m)
{
	struct efficiency e = host;

	if (m->decode_part > 0)
		e.decode = m->decode_part;
	if (m->prefill_part > 0)
		e.prefill = m->prefill_part;
	return e;
}

/* Assumed latencies of a small all-reduce: over NVLink, and over PCIe with a copy through the host.  An exchange through the
 * host uses its link twice. */
enum { LINK_US = 12, HOST_US = 40 };

struct link link_of(const struct infer_gpu *g)
{
	if (g->link_gb_s > 0)
		return (struct link){ g->link_gb_s, g->link_us > 0 ? g->link_us : LINK_US };
	if (g->host_gb_s > 0)
		return (struct link){ g->host_gb_s / 2, g->link_us > 0 ? g->link_us : HOST_US };
	return (struct link){ 0, 0 };
}
