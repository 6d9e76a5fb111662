/* hf/form.c - decide if GGUF's own keys can represent a tokenizer.json. */
#include "hf/vocab.h"
#include "tok/pretok.h"

#include <string.h>

/* The regular expressions that split a text, applied one after the other. */
struct stages {
	struct infer_str at[PRETOK_STAGES];
	int n, bad; /* bad: a step is not such an expression */
};

static int has_kind(const struct json *o, const char *member, enum json_kind kind)
{
	return json_is(json_get(o, member), kind);
}

static void add_stage(struct stages *s, const char *pattern, size_t n)
{
	if (s->n == PRETOK_STAGES)
		s->bad = 1;
	else
		s->at[s->n++] = (struct infer_str){ pattern, n };
}

/* Add the stage of any pre-tokenizer but the last. */
static void add_step(struct stages *s, const struct json *o)
{
	const struct json *type = json_get(o, "type"),
			  *re = json_get(json_get(o, "pattern"), "Regex");

	if (json_equals(type, "Split") && json_is_string(re) && json_count(o) == 4 &&
	    json_equals(json_get(o, "behavior"), "Isolated") && has_kind(o, "invert", JSON_FALSE))
		add_stage(s, re->s, re->n);
	else if (json_equals(type, "Split") && json_is_string(re) && json_count(o) == 4 &&
	         json_equals(json_get(o, "behavior"), "Removed") &&
	         has_kind(o, "invert", JSON_TRUE) && pretok_stage_find(re->s, re->n))
		add_stage(s, re->s, re->n);
	else if (json_equals(type, "Digits") && json_count(o) == 2 &&
	         has_kind(o, "individual_digits", JSON_TRUE))
		add_stage(s, "\\p{N}", 5);
	else
		s->bad = 1;
}

/* Add the stages of the last pre-tokenizer, which must be ByteLevel. */
static void add_bytes(struct stages *s, const struct json *o)
{
	const char *gpt2 = pretok_find("gpt-2", 5)->stage[0].pattern;

	if (!json_equals(json_get(o, "type"), "ByteLevel") ||
	    !has_kind(o, "add_prefix_space", JSON_FALSE))
		s->bad = 1;
	else if (!has_kind(o, "use_regex", JSON_FALSE))
		add_stage(s, gpt2, strlen(gpt2));
}

static int stages_equal(const struct stages *s, const struct pretok *p)
{
	int n = 0;

	while (n < PRETOK_STAGES && p->stage[n].pattern)
		n++;
	for (int i = 0; i < n && n == s->n; i++)
		if (!pretok_same(p->stage[i].pattern, s->at[i].at, s->at[i].len))
			return 0;
	return n == s->n;
}

/* Return the first pre-tokenizer of the list with these stages, preferably one whose PRETOK_WHOLE
 * equals `whole`; NULL: none. */
static const struct pretok *find_pretok(const struct stages *s, int whole)
{
	const struct pretok *p, *other = NULL;

	for (size_t i = 0; !s->bad && (p = pretok_at(i)); i++) {
		if (p->flags & PRETOK_RAW || !stages_equal(s, p))
			continue;
		if (!(p->flags & PRETOK_WHOLE) == !whole)
			return p;
		other = other ? other : p;
	}
	return other;
}

/* True if a reader of GGUF treats every added token as tokenizer.json requires. */
static int added_plain(const struct hf_vocab *v)
{
	for (uint32_t i = 0; i < v->n_added; i++) {
		const struct hf_added *a = &v->added[i];
		if (a->flags & (HF_LSTRIP | HF_RSTRIP | HF_WORD))
			return 0;
		/* in GGUF, U+2581 in the text becomes a space */
		if (memmem(a->content.at, a->content.len, "\xe2\x96\x81", 3) ||
		    (v->norm && a->flags & HF_NORMALIZED))
			return 0;
	}
	return 1;
}

/* True if the model has only the members of byte-level BPE, with values that have no effect. */
static int model_plain(const struct hf_vocab *v)
{
	static const char *const off[] = { "dropout",
		                           "unk_token",
		                           "fuse_unk",
		                           "byte_fallback",
		                           "continuing_subword_prefix",
		                           "end_of_word_suffix" };

	json_each(m, v->model) {
		int known =
			m == json_get(v->model, "type") || m == json_get(v->model, "ignore_merges");
		for (size_t i = 0; i < sizeof off / sizeof *off; i++)
			known |= m == json_get(v->model, off[i]) &&
			         (json_is_null(m) || json_is(m, JSON_FALSE) || json_equals(m, ""));
		if (!known)
			return 0;
	}
	return !v->decode || json_equals(json_get(v->decode, "type"), "ByteLevel");
}

const char *hf_form(const struct hf_vocab *v, int *plain)
{
	struct stages s = { 0 };
	const struct json *list = json_get(v->pre, "pretokenizers");
	int whole = has_kind(v->model, "ignore_merges", JSON_TRUE);

	*plain = 0;
	if (v->kind != HF_BPE)
		return "default";
	if (json_equals(json_get(v->pre, "type"), "Sequence") && json_count(list)) {
		json_each(o, list)
			o->next ? add_step(&s, o) : add_bytes(&s, o);
	} else {
		add_bytes(&s, v->pre);
	}
	const struct pretok *p = find_pretok(&s, whole);
	*plain = p && !v->norm && added_plain(v) && !(p->flags & PRETOK_WHOLE) == !whole &&
	         model_plain(v);
	return p ? p->names : "default";
}
