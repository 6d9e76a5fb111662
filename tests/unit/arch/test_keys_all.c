/* tests/unit/arch/test_keys_all.c - every architecture with every key: what has no effect there, and
 * what is hostile, is refused by the key's name. */
#include "../nth.h"
#include "hparam.h"

#include <math.h>

#include "arch/arch.h"

#define ARCH(x) extern const struct arch arch_##x;
#include "arch/arch_list.h"
#undef ARCH
static const struct arch *const archs[] = {
#define ARCH(x) &arch_##x,
#include "arch/arch_list.h"
#undef ARCH
};

/* Read with one key of the value v: nonzero if the architecture reads that key itself.  A value that is refused is
 * refused by the key's name. */
static int reads(const struct arch *a, const struct key_row *row, double v, int *rc)
{
	struct arch_hparam h;
	char name[128];
	infer_error e;

	snprintf(name, sizeof name, "llama.%s", row->gguf);
	const struct key k[] = { { name, F32, v },
		                 { "llama.attention.layer_norm_epsilon", F32, 1e-5 } };
	*rc = arch_row(a, W_KV_A) ? read_latent(&h, a->gguf, k, 1, &e)
	                          : read_with(&h, a->gguf, k, 2, &e);
	if (*rc && !strstr(e.message, row->gguf))
		fail_msg("%s %s %g: not named in: %s", a->gguf, row->gguf, v, e.message);
	return !*rc || !strstr(e.message, "is not supported with architecture");
}

/* Every architecture refuses a value that is not a number, and a key that it does not read.
 * test_keys wants a golden file for each row up to LOGIT_CAP, the rows that have an effect, and
 * test_encoders has files for those of encoders behind it; so no architecture may read a row from
 * PARALLEL on. */
static void test_neutral(void **state)
{
	int rc;

	(void)state;
	for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++)
		for (enum arch_key key = 0; key < ARCH_KEYS; key++) {
			const struct key_row *row = &arch_key_rows[key];
			if (row->rule != KEY_NEUTRAL || !row->gguf)
				continue;
			if (reads(archs[i], row, 0.37, &rc) && key >= K_PARALLEL)
				fail_msg("key_list.h: %s reads %s (%s): its row belongs before "
				         "\"effects that no architecture here has\"",
				         archs[i]->gguf, row->id, row->gguf);
			reads(archs[i], row, NAN, &rc);
			if (!rc)
				fail_msg("%s: %s may be no number", archs[i]->gguf, row->gguf);
		}
}

/* With one key that is hostile; `window`: in layers that slide. */
static int read_hostile(const struct arch *a, const struct key *k, int window, infer_error *e)
{
	const struct key with[] = { *k, { "llama.attention.sliding_window", U32, 8 } };
	struct arch_hparam h;

	return arch_row(a, W_KV_A) ? read_latent(&h, a->gguf, with, 1 + window, e)
	                           : read_with(&h, a->gguf, with, 1 + window, e);
}

static void check_hostile(const struct arch *a, const struct key_row *row, int window)
{
	static const struct key hostile[] = {
		{ NULL, I32, -1 },        { NULL, U64, 9.2e18 },    { NULL, F32, NAN },
		{ NULL, F32, -INFINITY }, { NULL, STR, 0, "\x01" },
	};
	char name[128];
	infer_error e;

	snprintf(name, sizeof name, "llama.%s", row->gguf);
	for (size_t v = 0; v < sizeof hostile / sizeof *hostile; v++) {
		struct key k = hostile[v];
		int rc;

		k.key = name;
		rc = read_hostile(a, &k, window && strcmp(row->gguf, "attention.sliding_window"),
		                  &e);
		if (rc != INFER_EFORMAT && rc != INFER_EUNSUP)
			fail_msg("%s %s: hostile value %zu: %d", a->gguf, row->gguf, v, rc);
		else if (!strstr(e.message, row->gguf))
			fail_msg("%s %s: not named in: %s", a->gguf, row->gguf, e.message);
	}
}

/* Every architecture with every key that has an effect: less than nothing, more than fits, no number, the wrong
 * type.  All are refused by the key's name, also by architectures that do not read the key. */
static void test_hostile(void **state)
{
	infer_error e;

	(void)state;
	for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++) {
		const struct key none = { "llama.vocab_size", U32, 512 };
		int window = !read_hostile(archs[i], &none, 1, &e);

		for (enum arch_key key = 0; key < K_PARALLEL; key++) {
			const struct key_row *row = &arch_key_rows[key];

			/* these say nothing where no layer slides */
			if (!window && (key == K_ROPE_BASE_SWA || key == K_ROPE_DIM_SWA ||
			                key == K_WINDOW_PATTERN))
				continue;
			if (row->rule != KEY_HARMLESS && row->gguf)
				check_hostile(archs[i], row, window);
		}
	}
}

/* ---- keys of the public converter ------------------------------------------------------------ */

/* True if some value of the key is not refused as one that the architecture does not know. */
static int is_known(const struct arch *a, const char *its)
{
	static const struct key values[] = {
		{ NULL, U32, 0 }, { NULL, U32, 1 }, { NULL, BOOL, 1 }, { NULL, STR, 0, "none" }
	};
	char name[128];
	struct arch_hparam h;
	infer_error e;

	snprintf(name, sizeof name, "llama.%s", its);
	for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
		struct key k = values[i];
		k.key = name;
		int rc = arch_row(a, W_KV_A) ? read_latent(&h, a->gguf, &k, 1, &e)
		                             : read_with(&h, a->gguf, &k, 1, &e);
		if (rc && strstr(e.message, "not known to architecture"))
			return 0;
	}
	return 1;
}

/* Read a line of the golden file: an architecture, and the keys that it must know. Returns its index in archs. */
static size_t check_converter_line(char *line)
{
	char *at, *name = strtok_r(line, " \n", &at);
	size_t i = 0;

	while (i < sizeof archs / sizeof archs[0] && strcmp(archs[i]->gguf, name) != 0)
		i++;
	if (i == sizeof archs / sizeof archs[0])
		fail_msg("converter.txt has a line of %s, which arch_list.h does not have", name);
	for (const char *key; (key = strtok_r(NULL, " \n", &at));)
		if (!is_known(archs[i], key))
			fail_msg("%s: the converter writes %s", name, key);
	if (is_known(archs[i], "frobnication"))
		fail_msg("%s: frobnication is known", name);
	return i;
}

/* Every key that the public converter may write for an architecture is read by it, or has a row in
 * key_list.h (tests/golden/keys, made by scripts/golden-keys.py). */
static void test_converter(void **state)
{
	FILE *f = fopen("tests/golden/keys/converter.txt", "r");
	int lines[sizeof archs / sizeof archs[0]] = { 0 };
	char line[2048];

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof line, f))
		lines[check_converter_line(line)]++;
	fclose(f);
	for (size_t i = 0; i < sizeof archs / sizeof archs[0]; i++)
		if (lines[i] != 1)
			fail_msg("architecture %s: %d lines in tests/golden/keys/converter.txt, "
			         "not 1 "
			         "(scripts/golden-keys.py)",
			         archs[i]->gguf, lines[i]);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_neutral),
		                            cmocka_unit_test(test_hostile),
		                            cmocka_unit_test(test_converter) };

	return nth_group(tests);
}
