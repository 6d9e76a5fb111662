/* tok/pipe_steps.c - compile "normalizer" and "pre_tokenizer" of a tokenizer.json to steps. */
#include "base/err.h"
#include "file/file.h"
#include "tok/pipe.h"

#include <stdio.h>
#include <string.h>

/* The position of a step, for messages. */
struct reader {
	struct tok_pipe *p;
	const char *name;  /* name of the file */
	const char *where; /* top-level member: "normalizer" */
	const char *list;  /* the list in a Sequence: "normalizers" */
	struct pipe_step *step;
	int *n;
	infer_error *err;
};

/* A flag of a step: member of its JSON object, default (-1: required), bit. */
struct flag {
	const char *member;
	int otherwise;
	unsigned bit;
};
struct step_type {
	const char *type;
	enum pipe_kind kind;
	struct flag flag[4];
	/* names of string members: "pattern" and "behavior" of steps that split, "content",
	 * "prepend", "replacement" */
	const char *text[3];
	int (*more)(struct reader *r, struct pipe_step *st, const struct json *o);
};

static int refuse_member(const struct reader *r, const struct json *o, const char *member,
                         const char *why)
{
	char a[FILE_QUOTE];
	const struct json *type = json_get(o, "type");

	return err_set(r->err, INFER_EUNSUP, "%s: %s.%s.%s %s", r->name, r->where,
	               file_quote(a, json_str(type), json_bytes(type)), member, why);
}

static int steps_nomem(const struct reader *r)
{
	return err_set(r->err, INFER_ENOMEM, "%s: %s: no memory", r->name, r->where);
}

static int copy_str(struct reader *r, const char *s, size_t n, struct infer_str *out)
{
	out->at = arena_strndup(&r->p->arena, s, n);
	out->len = n;
	return out->at ? INFER_OK : steps_nomem(r);
}

/* Set the expression of a step: the listed stage with this pattern, else one for PCRE2. */
static int read_regex(struct reader *r, struct pipe_step *st, const struct json *o, const char *s,
                      size_t n)
{
	const struct pretok_stage *known = pretok_stage_find(s, n);
	struct pretok *def = st->def = arena_alloc(&r->p->arena, 1, sizeof *def);
	char *pattern, why[120];
	const char *what;

	if (!def)
		return steps_nomem(r);
	def->names = r->where;
	if (known) {
		def->stage[0] = *known;
		return pretok_new(&st->code, def, PRETOK_WITH_SCANNERS, r->err);
	}
	int rc = pretok_translate(s, n, &pattern, &what);
	if (rc == INFER_EUNSUP) {
		snprintf(why, sizeof why, "is an expression with %s, which is not supported", what);
		return refuse_member(r, o, "pattern.Regex", why);
	}
	if (rc)
		return steps_nomem(r);
	def->stage[0].pattern = arena_strndup(&r->p->arena, pattern, strlen(pattern));
	mem_free(pattern);
	if (!def->stage[0].pattern)
		return steps_nomem(r);
	infer_error of;
	rc = pretok_new(&st->code, def, PRETOK_FOREIGN, &of);
	if (rc != INFER_EUNSUP)
		return rc ? steps_nomem(r) : INFER_OK;
	snprintf(why, sizeof why, "is not supported: %.90s", of.message);
	return refuse_member(r, o, "pattern.Regex", why);
}

/* Read "pattern": {"String": s} or {"Regex": s}. */
static int read_pattern(struct reader *r, struct pipe_step *st, const struct json *o)
{
	const struct json *p = json_get(o, "pattern"), *s = json_get(p, "String"),
			  *re = json_get(p, "Regex");

	if (json_count(p) != 1 || !(json_is_string(s) || json_is_string(re)))
		return refuse_member(r, o, "pattern",
		                     "must be {\"String\": ...} or {\"Regex\": ...}");
	if (s && !s->n)
		return refuse_member(r, o, "pattern", "must not be empty");
	return s ? copy_str(r, s->s, s->n, &st->s) : read_regex(r, st, o, re->s, re->n);
}

static int read_behavior(struct reader *r, struct pipe_step *st, const struct json *o)
{
	static const char *const name[] = { "Removed", "Isolated", "MergedWithPrevious",
		                            "MergedWithNext", "Contiguous" };
	const struct json *v = json_get(o, "behavior");

	st->how = PIPE_ISOLATED;
	if (!v)
		return INFER_OK;
	for (int i = 0; i < 5; i++)
		if (json_equals(v, name[i])) {
			st->how = (enum pipe_how)i;
			return INFER_OK;
		}
	return refuse_member(r, o, "behavior", "is not supported");
}

static int read_split(struct reader *r, struct pipe_step *st, const struct json *o)
{
	st->invert = (st->flags & 1) != 0;
	TRY(read_behavior(r, st, o));
	return read_pattern(r, st, o);
}

/* Read ByteLevel, whose expression is that of GPT-2. */
static int read_byte_level(struct reader *r, struct pipe_step *st, const struct json *o)
{
	const char *gpt2 = pretok_find("gpt-2", 5)->stage[0].pattern;

	return st->flags & PIPE_REGEX ? read_regex(r, st, o, gpt2, strlen(gpt2)) : INFER_OK;
}

static int read_digits(struct reader *r, struct pipe_step *st, const struct json *o)
{
	(void)r;
	(void)o;
	st->how = st->flags & 1 ? PIPE_ISOLATED : PIPE_CONTIGUOUS;
	return INFER_OK;
}

static int read_delimiter(struct reader *r, struct pipe_step *st, const struct json *o)
{
	const struct json *v = json_get(o, "delimiter");

	if (!json_bytes(v))
		return refuse_member(r, o, "delimiter", "must be a character");
	return copy_str(r, v->s, v->n, &st->s);
}

static int read_prepend(struct reader *r, struct pipe_step *st, const struct json *o)
{
	const struct json *v = json_get(o, "prepend");

	if (!json_is_string(v))
		return refuse_member(r, o, "prepend", "must be a string");
	return copy_str(r, v->s, v->n, &st->with);
}

static int read_replace(struct reader *r, struct pipe_step *st, const struct json *o)
{
	const struct json *v = json_get(o, "content");

	if (!json_is_string(v))
		return refuse_member(r, o, "content", "must be a string");
	TRY(copy_str(r, v->s, v->n, &st->with));
	return read_pattern(r, st, o);
}

/* Read a BertNormalizer; strip_accents null means the value of lowercase. */
static int read_bert(struct reader *r, struct pipe_step *st, const struct json *o)
{
	const struct json *v = json_get(o, "strip_accents");

	if (v && !json_is_null(v) && !json_is_bool(v))
		return refuse_member(r, o, "strip_accents", "must be true, false or null");
	if (json_is(v, JSON_TRUE) || (!json_is_bool(v) && st->flags & PIPE_TO_LOWER))
		st->flags |= PIPE_MARKS;
	return INFER_OK;
}

static int read_metaspace(struct reader *r, struct pipe_step *st, const struct json *o)
{
	const struct json *with = json_get(o, "replacement"),
			  *scheme = json_get(o, "prepend_scheme"),
			  *old = json_get(o, "add_prefix_space");

	if (!json_bytes(with) || with->n > 4 || memchr(with->s, ' ', with->n))
		return refuse_member(r, o, "replacement",
		                     "must be a character that is not a space");
	TRY(copy_str(r, with->s, with->n, &st->with));
	if (json_equals(scheme, "always") || (!scheme && !json_is(old, JSON_FALSE)))
		st->flags |= PIPE_ALWAYS;
	else if (json_equals(scheme, "first"))
		st->flags |= PIPE_FIRST;
	else if (scheme && !json_equals(scheme, "never"))
		return refuse_member(r, o, "prepend_scheme", "is not supported");
	st->how = PIPE_WITH_NEXT;
	return INFER_OK;
}

static int read_not_words(struct reader *r, struct pipe_step *st, const struct json *o)
{
	(void)r;
	(void)o;
	st->invert = 1;
	return INFER_OK;
}

static int read_charsmap(struct reader *r, struct pipe_step *st, const struct json *o)
{
	(void)r;
	(void)st;
	(void)o; /* the charsmap is read from a GGUF key */
	return INFER_OK;
}

static const struct step_type norm_types[] = {
	{ "NFC", PIPE_NFC, { { NULL, 0, 0 } }, { NULL }, NULL },
	{ "NFD", PIPE_NFD, { { NULL, 0, 0 } }, { NULL }, NULL },
	{ "NFKC", PIPE_NFKC, { { NULL, 0, 0 } }, { NULL }, NULL },
	{ "NFKD", PIPE_NFKD, { { NULL, 0, 0 } }, { NULL }, NULL },
	{ "Lowercase", PIPE_LOWER, { { NULL, 0, 0 } }, { NULL }, NULL },
	{ "StripAccents", PIPE_ACCENTS, { { NULL, 0, 0 } }, { NULL }, NULL },
	{ "Nmt", PIPE_NMT, { { NULL, 0, 0 } }, { NULL }, NULL },
	{ "Strip",
	  PIPE_STRIP,
	  { { "strip_left", -1, PIPE_LEFT }, { "strip_right", -1, PIPE_RIGHT } },
	  { NULL },
	  NULL },
	{ "Prepend", PIPE_PREPEND, { { NULL, 0, 0 } }, { "prepend" }, read_prepend },
	{ "Replace", PIPE_REPLACE, { { NULL, 0, 0 } }, { "pattern", "content" }, read_replace },
	{ "BertNormalizer",
	  PIPE_BERT,
	  { { "clean_text", 1, PIPE_CLEAN },
	    { "handle_chinese_chars", 1, PIPE_CJK },
	    { "lowercase", 1, PIPE_TO_LOWER } },
	  { "strip_accents" },
	  read_bert },
	{ "Precompiled",
	  PIPE_CHARSMAP,
	  { { NULL, 0, 0 } },
	  { "precompiled_charsmap" },
	  read_charsmap },
};

static const struct step_type pre_types[] = {
	{ "ByteLevel",
	  PIPE_BYTES,
	  { { "add_prefix_space", 1, PIPE_PREFIX },
	    { "use_regex", 1, PIPE_REGEX },
	    { "trim_offsets", 1, 1 << 8 } },
	  { NULL },
	  read_byte_level },
	{ "Split", PIPE_SPLIT, { { "invert", 0, 1 } }, { "pattern", "behavior" }, read_split },
	{ "Digits", PIPE_DIGITS, { { "individual_digits", 0, 1 } }, { NULL }, read_digits },
	{ "Punctuation", PIPE_PUNCT, { { NULL, 0, 0 } }, { "behavior" }, read_behavior },
	{ "CharDelimiterSplit", PIPE_SPLIT, { { NULL, 0, 0 } }, { "delimiter" }, read_delimiter },
	{ "WhitespaceSplit", PIPE_WHITE, { { NULL, 0, 0 } }, { NULL }, NULL },
	{ "Whitespace", PIPE_NOT_WORDS, { { NULL, 0, 0 } }, { NULL }, read_not_words },
	{ "Metaspace",
	  PIPE_METASPACE,
	  { { "split", 1, PIPE_CUT }, { "add_prefix_space", 1, 1 << 8 } },
	  { "replacement", "prepend_scheme", "str_rep" },
	  read_metaspace },
};

static const struct step_type *type_of(const struct reader *r, const struct json *o)
{
	const struct step_type *t = r->step == r->p->norm ? norm_types : pre_types;
	size_t n = t == norm_types ? sizeof norm_types / sizeof *norm_types
	                           : sizeof pre_types / sizeof *pre_types;

	for (size_t i = 0; i < n; i++)
		if (json_equals(json_get(o, "type"), t[i].type))
			return &t[i];
	return NULL;
}

/* Check that every member is known and flags are booleans; set the flags. */
static int check_members(struct reader *r, const struct step_type *t, struct pipe_step *st,
                         const struct json *o)
{
	char name[FILE_QUOTE];

	for (int i = 0; i < 4 && t->flag[i].member; i++) {
		const struct json *v = json_get(o, t->flag[i].member);
		if (v ? !json_is_bool(v) : t->flag[i].otherwise < 0)
			return refuse_member(r, o, t->flag[i].member, "must be true or false");
		if (v ? json_is(v, JSON_TRUE) : t->flag[i].otherwise)
			st->flags |= t->flag[i].bit;
	}
	json_each(m, o) {
		int known = m->key_n == 4 && !memcmp(m->key, "type", 4);
		for (int i = 0; i < 4 && t->flag[i].member; i++)
			known |= m == json_get(o, t->flag[i].member);
		for (int i = 0; i < 3 && t->text[i]; i++)
			known |= m == json_get(o, t->text[i]);
		if (!known)
			return refuse_member(r, o, file_quote(name, m->key, m->key_n),
			                     "is not supported");
	}
	return INFER_OK;
}

/* Append a step, or those of a Sequence. */
static int add_steps(struct reader *r, const struct json *o, int depth)
{
	const struct json *type = json_get(o, "type");
	char name[FILE_QUOTE];

	if (json_equals(type, "Sequence") && depth == 4)
		return refuse_member(r, o, r->list, "nests sequences more than 4 deep");
	if (json_equals(type, "Sequence")) {
		const struct json *list = json_get(o, r->list);
		if (!json_is_array(list) || json_count(o) != 2)
			return refuse_member(r, o, r->list,
			                     "must be an array, and the only member");
		json_each(v, list)
			TRY(add_steps(r, v, depth + 1));
		return INFER_OK;
	}
	/* BertPreTokenizer is two steps */
	if (r->step == r->p->pre && json_equals(type, "BertPreTokenizer") && json_count(o) == 1) {
		if (*r->n > PIPE_STEPS - 2)
			return refuse_member(r, o, "type", "exceeds the limit of 16 steps");
		r->step[(*r->n)++] = (struct pipe_step){ .kind = PIPE_WHITE };
		r->step[(*r->n)++] = (struct pipe_step){ .kind = PIPE_PUNCT, .how = PIPE_ISOLATED };
		return INFER_OK;
	}
	const struct step_type *t = type_of(r, o);
	if (*r->n == PIPE_STEPS)
		return err_set(r->err, INFER_EUNSUP, "%s: %s has more than %d steps", r->name,
		               r->where, PIPE_STEPS);
	if (!t)
		return err_set(r->err, INFER_EUNSUP, "%s: %s.type %s is not supported", r->name,
		               r->where, file_quote(name, json_str(type), json_bytes(type)));
	struct pipe_step *st = &r->step[(*r->n)++];
	*st = (struct pipe_step){ .kind = t->kind };
	TRY(check_members(r, t, st, o));
	return t->more ? t->more(r, st, o) : INFER_OK;
}

int pipe_steps(struct tok_pipe *p, const struct json *norm, const struct json *pre,
               const char *name, infer_error *err)
{
	struct reader a = { p, name, "normalizer", "normalizers", p->norm, &p->n_norm, err };
	struct reader b = { p, name, "pre_tokenizer", "pretokenizers", p->pre, &p->n_pre, err };

	if (norm && !json_is_null(norm))
		TRY(add_steps(&a, norm, 0));
	return pre && !json_is_null(pre) ? add_steps(&b, pre, 0) : INFER_OK;
}
