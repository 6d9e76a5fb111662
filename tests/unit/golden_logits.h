/* tests/unit/golden_logits.h - the cases of tests/golden/logits: tiny model files, ids and the
 * logits that transformers gives for them in float64 (scripts/golden-logits.py makes them and
 * defines cases.txt). */
#ifndef TESTS_GOLDEN_LOGITS_H
#define TESTS_GOLDEN_LOGITS_H
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "nth.h"

#define GOLDEN_LOGITS "tests/golden/logits/"
#define GOLDEN_TOLERANCE 1e-4 /* times max(1, max |logit|) */
enum { MAX_CASES = 96, MAX_MUTANTS = 16, MAX_EDITS = 64, MAX_IDS = 64, NAME = 64 };

struct edits {
	char *line[MAX_EDITS];
	int n;
};
struct mutant {
	char name[NAME];
	struct edits edits;
};
struct golden {
	char name[NAME], file[NAME];
	int n_vocab, ctx, n;
	int32_t ids[MAX_IDS];
	struct edits edits;
	struct mutant mutants[MAX_MUTANTS];
	int n_mutants;
};
static struct golden cases[MAX_CASES];
static int n_cases;
static char golden_text[1 << 17];

static inline void golden_case(struct golden *g, char *line)
{
	int used = 0;

	if (sscanf(line, "case %63s %63s %d %d %d%n", g->name, g->file, &g->n_vocab, &g->ctx, &g->n,
	           &used) != 5 ||
	    g->n > MAX_IDS)
		fail_msg("cases.txt: %s", line);
	for (int i = 0, k = 0; i < g->n; i++, used += k)
		if (sscanf(line + used, "%d%n", &g->ids[i], &k) != 1)
			fail_msg("cases.txt: too few ids: %s", line);
}

static inline void golden_line(char *line)
{
	static struct edits *to;
	struct golden *g = n_cases ? &cases[n_cases - 1] : NULL;

	if (!strncmp(line, "case ", 5)) {
		assert_true(n_cases < MAX_CASES);
		golden_case(&cases[n_cases], line);
		to = &cases[n_cases++].edits;
	} else if (!strncmp(line, "mutant ", 7) && g) {
		struct mutant *m = &g->mutants[g->n_mutants++];

		assert_true(g->n_mutants <= MAX_MUTANTS);
		assert_int_equal(sscanf(line, "mutant %63s", m->name), 1);
		to = &m->edits;
	} else if (!strncmp(line, "edit ", 5) && to) {
		assert_true(to->n < MAX_EDITS);
		to->line[to->n++] = line + 5;
	} else if (*line && *line != '#') {
		fail_msg("cases.txt: %s", line);
	}
}

/* All cases, once. */
static inline void golden_read_from(const char *path)
{
	FILE *f = fopen(path, "r");
	size_t n = f ? fread(golden_text, 1, sizeof golden_text - 1, f) : 0;

	if (!f || !n || n == sizeof golden_text - 1) {
		printf("Bail out! %s cannot be read\n", path);
		exit(1);
	}
	fclose(f);
	for (char *line = golden_text, *end; *line; line = end) {
		end = line + strcspn(line, "\n");
		if (*end)
			*end++ = 0;
		golden_line(line);
	}
}

static inline void golden_read(void) { golden_read_from(GOLDEN_LOGITS "cases.txt"); }

/* f32 [n][n_vocab]; free it */
static inline float *expected(const struct golden *g)
{
	size_t n = (size_t)g->n * (size_t)g->n_vocab;
	float *want = malloc(n * sizeof *want);
	char path[512];
	FILE *f;

	snprintf(path, sizeof path, GOLDEN_LOGITS "%s.f32", g->name);
	f = fopen(path, "rb");
	assert_non_null(f);
	assert_non_null(want);
	assert_int_equal(fread(want, sizeof *want, n, f), n);
	fclose(f);
	return want;
}
#endif
