/* tests/unit/arch/test_hf.c - tensor names of Hugging Face checkpoints, compared both ways with
 * those that transformers writes (tests/golden/hf/names.txt, made by scripts/golden-hf.py): each
 * of theirs has a row, and each of ours is one of theirs. */
#include "../nth.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "arch/arch.h"

enum { MAX_LINES = 2048, MAX_NAME = 128, LAYERS = 2, MORE_STREAMS = 3 };
struct line {
	const char *arch, *cls, *hf, *gguf, *how;
};
/* Row i of arch_list.h; NULL after the last. */
static const struct arch *arch_row_at(int i)
{
	const char *name = infer_model_family(i);

	return name ? arch_find((struct infer_str){ name, strlen(name) }) : NULL;
}

static struct line lines[MAX_LINES];
static int n_lines;
static char text[1 << 18];

static struct infer_str str(const char *s) { return (struct infer_str){ s, strlen(s) }; }

static int read_lines(void **state)
{
	FILE *f = fopen("tests/golden/hf/names.txt", "rb");
	char *at = text;

	(void)state;
	if (!f)
		return -1;
	text[fread(text, 1, sizeof text - 1, f)] = 0;
	fclose(f);
	for (char *s = strsep(&at, "\n"); s && n_lines < MAX_LINES; s = strsep(&at, "\n")) {
		struct line *l = &lines[n_lines];
		if (!*s || *s == '#')
			continue;
		l->arch = strsep(&s, "\t");
		l->cls = strsep(&s, "\t");
		l->hf = strsep(&s, "\t");
		l->gguf = strsep(&s, "\t");
		l->how = s;
		if (!l->how)
			return -1;
		n_lines++;
	}
	return n_lines > 0 && n_lines < MAX_LINES ? 0 : -1;
}

static int same_plain(const struct arch *a, const char *x, const char *y)
{
	struct infer_str p = arch_strip_prefix(a, ARCH_HF, str(x)),
			 q = arch_strip_prefix(a, ARCH_HF, str(y));

	return p.len == q.len && !memcmp(p.at, q.at, p.len);
}

/* A name of a column in a layer; of an expert, where it has a %d. */
static const char *expand(char out[MAX_NAME], const struct arch *a, int hf, const char *name,
                          int slot, int layer, int expert)
{
	const char *at = strstr(name, "%d");
	int n = 0;

	if (slot >= W_GLOBALS)
		n = snprintf(out, MAX_NAME, "%s%d.", arch_layer_prefix(a, hf ? ARCH_HF : ARCH_GGUF),
		             layer);
	if (at)
		snprintf(out + n, (size_t)(MAX_NAME - n), "%.*s%d%s", (int)(at - name), name,
		         expert, at + 2);
	else
		snprintf(out + n, (size_t)(MAX_NAME - n), "%s", name);
	return out;
}

static void spell_how(char out[MAX_NAME], const struct arch *a, const struct arch_tensor *t)
{
	static const char *const names[] = {
		[T_NONE] = "T_NONE",
		[T_PLUS1] = "T_PLUS1",
		[T_ROWS] = "T_ROWS",
		[T_PAIRS] = "T_PAIRS",
		[T_STACK] = "T_STACK",
		[T_EVEN] = "T_EVEN",
		[T_ODD] = "T_ODD",
		[T_TURN] = "T_TURN",
		[T_NEG_EXP] = "T_NEG_EXP",
		[T_BY_HEAD] = "T_BY_HEAD",
		[T_BY_HEAD_Z] = "T_BY_HEAD_Z",
		[T_TILED] = "T_TILED",
		[T_TILED_V] = "T_TILED_V",
		[T_TILED_COLS] = "T_TILED_COLS",
		[T_TILED_NEG_EXP] = "T_TILED_NEG_EXP",
	};
	enum arch_transform how = arch_transform_of(a, t);

	snprintf(out, MAX_NAME, "%s",
	         t->slot == W_UNUSED || t->slot == W_UNUSED_IDS ? "-" : names[how]);
}

/* The layer and the expert that a name is about, 0 for none. */
static int number_behind(const char *name, const char *word)
{
	const char *at = strstr(name, word);

	return at ? atoi(at + strlen(word)) : 0;
}

/* The last part of a name that is a number, 0 for none. */
static int last_number(const char *name)
{
	int n = 0;

	for (const char *at = name; (at = strchr(at, '.')); at++)
		if (at[1] >= '0' && at[1] <= '9')
			n = atoi(at + 1);
	return n;
}

/* 1: the row, as it is in a, says what the line says; *spelling: by which of its names. */
static int says(const struct arch *a, const struct arch_tensor *t, const struct line *l,
                int *spelling)
{
	char name[MAX_NAME], how[MAX_NAME];
	int layer = number_behind(l->gguf, "blk."), expert = last_number(l->hf);

	if (strcmp(expand(name, a, 0, t->gguf, t->slot, layer, 0), l->gguf) != 0)
		return 0;
	if (!strcmp(l->hf, "-"))
		return !t->hf[0];
	spell_how(how, a, t);
	for (int i = 0; i < 2; i++)
		if (t->hf[i] && !strcmp(how, l->how) &&
		    same_plain(a, expand(name, a, 1, t->hf[i], t->slot, layer, expert), l->hf)) {
			*spelling = i;
			return 1;
		}
	return 0;
}

/* Every line: its class is found, belongs to its architecture, and a row says what it says. */
static void test_every_tensor_has_a_row(void **state)
{
	(void)state;
	for (int i = 0; i < n_lines; i++) {
		const struct line *l = &lines[i];
		const struct arch *a = arch_find_hf(str(l->cls));
		int said = 0, spelling;
		if (!a || strcmp(a->gguf, l->arch) != 0)
			fail_msg("class %s: not of architecture %s", l->cls, l->arch);
		for (int slot = 1; slot < W_SLOTS; slot++) {
			const struct arch_tensor *t = arch_row(a, slot);
			said += t && says(a, t, l, &spelling);
		}
		if (!said)
			fail_msg("%s: no row says that %s is %s by %s", l->arch, l->gguf, l->hf,
			         l->how);
	}
}

/* Whether the class of a line has the line's tensor as this GGUF tensor too: it is two in one. */
static int is_also(const struct line *l, const char *gguf)
{
	for (int i = 0; i < n_lines; i++)
		if (!strcmp(lines[i].cls, l->cls) && !strcmp(lines[i].hf, l->hf) &&
		    !strcmp(lines[i].gguf, gguf))
			return 1;
	return 0;
}

/* No name of the checkpoint could be taken for a GGUF tensor that it is not. */
static void test_a_name_has_one_meaning(void **state)
{
	char name[MAX_NAME];

	(void)state;
	for (int i = 0; i < n_lines; i++) {
		const struct line *l = &lines[i];
		const struct arch *a = arch_find(str(l->arch));
		int layer = number_behind(l->gguf, "blk.");
		for (int k = 0; k < 2 * W_SLOTS; k++) {
			const struct arch_tensor *t = k < 2 ? NULL : arch_row(a, k / 2);
			if (!t || !t->hf[k % 2] ||
			    !same_plain(a,
			                expand(name, a, 1, t->hf[k % 2], t->slot, layer,
			                       last_number(l->hf)),
			                l->hf))
				continue;
			if (!is_also(l, expand(name, a, 0, t->gguf, t->slot, layer, 0)))
				fail_msg("%s: %s is taken for %s", l->cls, l->hf, name);
		}
	}
}

/* Whether some line is what the row says, in an architecture that has the row. */
static int seen(const struct arch_tensor *t, int spelling)
{
	for (int i = 0; i < n_lines; i++) {
		const struct arch *a = arch_find(str(lines[i].arch));
		int by = -1;
		if (arch_row(a, t->slot) == t && says(a, t, &lines[i], &by) && by == spelling)
			return 1;
	}
	return 0;
}

static void check_names(const struct arch *a, const struct arch_tensor *t)
{
	for (; t->slot; t++)
		for (int k = 0; k < 2; k++)
			if (t->hf[k] && !seen(t, k))
				fail_msg("%s: %s is no tensor of the classes", a->gguf, t->hf[k]);
}

/* Every name of every row, also where it only passes the row on, was met. */
static void test_every_name_is_theirs(void **state)
{
	const struct arch *a;

	(void)state;
	for (int i = 0; (a = arch_row_at(i)); i++)
		for (int group = 0; group < ARCH_MAX_GROUPS && a->tensors[group]; group++)
			check_names(a, a->tensors[group]);
}

/* Lines of a class that say what a row says, in a layer. */
static int count(const struct arch *a, const struct arch_tensor *t, const char *cls, int layer)
{
	char name[MAX_NAME];
	int n = 0, spelling;

	expand(name, a, 0, t->gguf, t->slot, layer, 0);
	for (int i = 0; i < n_lines; i++)
		n += !strcmp(lines[i].cls, cls) && !strcmp(lines[i].gguf, name) &&
		     says(a, t, &lines[i], &spelling);
	return n;
}

/* True if names.txt has a line of the class. */
static int has_lines(const char *cls)
{
	for (int i = 0; i < n_lines; i++)
		if (!strcmp(lines[i].cls, cls))
			return 1;
	return 0;
}

/* A class has all that its architecture cannot be without, in both layers, and of the two kinds of
 * FFN one, or, where its checkpoints differ, both. */
static void check_class(const struct arch *a, const char *cls)
{
	const struct arch_tensor *exps = arch_row(a, W_GATE_EXPS), *gate = arch_row(a, W_GATE);
	int recurs = arch_row(a, W_STATE_OUT) != NULL;

	assert_ptr_equal(arch_find_hf(str(cls)), a);
	for (int slot = 1; slot < W_SLOTS; slot++) {
		const struct arch_tensor *t = arch_row(a, slot);
		if (!t || t->need == ARCH_MAY || t->need == ARCH_SHARED ||
		    t->need == ARCH_Q_DIRECT || t->need == ARCH_Q_LORA)
			continue;
		for (int layer = 0; layer < (slot < W_GLOBALS ? 1 : LAYERS); layer++) {
			int n_experts = count(a, exps, cls, layer),
			    both = n_experts && gate && count(a, gate, cls, layer),
			    want = t->how != T_STACK  ? 1
			           : slot < W_GLOBALS ? MORE_STREAMS
			                              : n_experts;
			if (t->need == ARCH_NOT_FIRST && !layer)
				want = 0;
			/* of classes with both the first layer is recurrent, the second attends */
			if ((t->need == (n_experts ? ARCH_DENSE : ARCH_EXPERTS) && !both) ||
			    t->need == (layer || !recurs ? ARCH_RECURRENT : ARCH_ATTENDS))
				want = 0;
			if (count(a, t, cls, layer) != want)
				fail_msg("%s: %d tensors of layer %d are %s, not %d", cls,
				         count(a, t, cls, layer), layer, t->gguf, want);
		}
	}
}

static void test_every_class_is_whole(void **state)
{
	const struct arch *a;

	(void)state;
	for (int i = 0; (a = arch_row_at(i)); i++) {
		assert_non_null(a->hf[0]);
		for (size_t k = 0; k < sizeof a->hf / sizeof *a->hf && a->hf[k]; k++) {
			if (!has_lines(a->hf[k]))
				fail_msg("class %s: no lines in tests/golden/hf/names.txt",
				         a->hf[k]);
			check_class(a, a->hf[k]);
		}
	}
}

static void test_unknown_class(void **state)
{
	(void)state;
	assert_null(arch_find_hf(str("")));
	assert_null(arch_find_hf(str("LlamaForCausal")));
	assert_null(arch_find_hf(str("LlamaForCausalLMs")));
	assert_null(arch_find_hf(str("MambaForCausalLM")));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_every_tensor_has_a_row),
		cmocka_unit_test(test_a_name_has_one_meaning),
		cmocka_unit_test(test_every_name_is_theirs),
		cmocka_unit_test(test_every_class_is_whole),
		cmocka_unit_test(test_unknown_class),
	};
	return cmocka_run_group_tests(tests, read_lines, NULL);
}
