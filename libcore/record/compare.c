/* record/compare.c - compare a record with the answer of its replay */
#include "record/replay.h"
#include "base/err.h"
#include "base/utf8.h"

#include <stdio.h>
#include <string.h>

/* ---- the first difference ---- */

/* Write v as JSON to out, truncated to fit. */
static void show_json(char *out, size_t room, const struct json *v)
{
	struct jwrite w;
	struct buf b;
	size_t n = 0;

	*out = 0;
	if (!v)
		return;
	buf_init(&b, MEM_RECORD);
	jw_init(&w, &b);
	jw_value(&w, NULL, v);
	if (!b.bad) { /* if memory runs out, the value is not shown */
		n = b.len < room ? b.len : room - 4;
		while (n < b.len && n && ((unsigned char)b.at[n] & 0xc0) == 0x80)
			n--;
		memcpy(out, b.at, n);
		memcpy(out + n, n < b.len ? "..." : "", n < b.len ? 4 : 1);
	}
	buf_fini(&b);
}

/* Record a difference if it is the first one.  position -1: the whole field differs */
static void differ(struct infer_replay_verdict *v, int32_t sample, int64_t position,
                   const char *field, const struct json *recorded, const struct json *got)
{
	char where[64] = "";
	size_t n = 0;

	if (v->differs)
		return;
	v->differs = 1;
	v->sample = sample;
	v->position = position;
	v->field = field;
	show_json(v->recorded, sizeof v->recorded, recorded);
	show_json(v->got, sizeof v->got, got);
	if (sample >= 0)
		n = (size_t)snprintf(where, sizeof where, "sample %d, ", (int)sample);
	if (position >= 0)
		snprintf(where + n, sizeof where - n, "%s %lld, ",
		         json_is_string(recorded) && !strcmp(field, "text") ? "byte" : "token",
		         (long long)position);
	snprintf(v->sentence, sizeof v->sentence, "%s%s: now %s, in the record %s", where, field,
	         *v->got ? v->got : "none", *v->recorded ? v->recorded : "none");
}

/* True if two values are equal; numbers are compared by value.  Recursion is as deep as `got`,
 * which the library wrote. */
static int same_json(const struct json *recorded, const struct json *got)
{
	const struct json *a, *b;

	if (!recorded || !got)
		return recorded == got;
	if (json_is_number(recorded) && json_is_number(got))
		return json_double(recorded) == json_double(got);
	if (recorded->kind != got->kind)
		return 0;
	if (json_is_string(got))
		return recorded->n == got->n && !memcmp(recorded->s, got->s, got->n);
	if (got->kind < JSON_ARRAY)
		return 1;
	if (recorded->n != got->n)
		return 0;
	for (a = json_first(recorded), b = json_first(got); b; a = a->next, b = b->next) {
		const struct json *of = a;

		if (json_is_object(got)) /* the order of keys may differ */
			of = json_getn(recorded, b->key, b->key_n);
		if (!of || !same_json(of, b))
			return 0;
	}
	return 1;
}

/* The lists with one element per token, by API format. */
static const struct list {
	const char *key, *inner, *name;
	enum infer_replay_part part;
} lists[] = {
	{ "tokens", NULL, "id", INFER_REPLAY_TOKENS },
	{ "logprobs", NULL, "logprob", INFER_REPLAY_LOGPROBS },
	{ "top", NULL, "top", INFER_REPLAY_TOP },
	{ "logprobs", "tokens", "token", INFER_REPLAY_TEXT },
	{ "logprobs", "token_logprobs", "logprob", INFER_REPLAY_LOGPROBS },
	{ "logprobs", "top_logprobs", "top_logprobs", INFER_REPLAY_TOP },
	{ "logprobs", "content", "logprobs", INFER_REPLAY_LOGPROBS },
};
/* The compared fields with a single value. */
static const struct {
	const char *key;
	enum infer_replay_part part;
} fields[] = {
	{ "text", INFER_REPLAY_TEXT },        { "text_b64", INFER_REPLAY_TEXT },
	{ "message", INFER_REPLAY_TEXT },     { "reasoning", INFER_REPLAY_REASONING },
	{ "tool_calls", INFER_REPLAY_CALLS }, { "finish_reason", INFER_REPLAY_FINISH },
};

static const struct json *list_of(const struct json *sample, const struct list *l)
{
	const struct json *v = json_get(sample, l->key);

	v = l->inner ? json_get(v, l->inner) : v;
	return json_is_array(v) ? v : NULL;
}

/* Return the first position at which two lists differ, -1 if none; *a, *b: the values there. */
static int64_t apart(const struct json *recorded, const struct json *got, const struct json **a,
                     const struct json **b)
{
	int64_t at = 0;

	*a = json_first(recorded);
	*b = json_first(got);
	for (; *a || *b; at++) {
		if (!same_json(*a, *b))
			return at;
		*a = (*a)->next;
		*b = (*b)->next;
	}
	return -1;
}

/* Compare the lists in parallel, so that the difference at the earliest token is found first. */
static void compare_lists(struct infer_replay_verdict *v, int32_t i, const struct json *recorded,
                          const struct json *got)
{
	const struct json *a, *b, *first_a = NULL, *first_b = NULL;
	const struct list *first = NULL;
	int64_t at, least = INT64_MAX;

	for (size_t k = 0; k < sizeof lists / sizeof *lists; k++) {
		const struct json *list = list_of(recorded, &lists[k]);

		if (!list)
			continue;
		v->compared |= lists[k].part;
		at = apart(list, list_of(got, &lists[k]), &a, &b);
		if (at < 0 || at >= least)
			continue;
		least = at;
		first = &lists[k];
		first_a = a;
		first_b = b;
	}
	if (first)
		differ(v, i, least, first->name, first_a, first_b);
}

/* Record two different texts, shown from the first different character on. */
static void differ_text(struct infer_replay_verdict *v, int32_t i, const char *key,
                        const struct json *recorded, const struct json *got)
{
	struct json a, b;
	size_t at = 0;

	if (!json_is_string(recorded) || !json_is_string(got) || strcmp(key, "text")) {
		differ(v, i, -1, key, recorded, got);
		return;
	}
	a = *recorded;
	b = *got;
	while (at < a.n && at < b.n && a.s[at] == b.s[at])
		at++;
	while (at && ((at < a.n && ((unsigned char)a.s[at] & 0xc0) == 0x80) ||
	              (at < b.n && ((unsigned char)b.s[at] & 0xc0) == 0x80)))
		at--;
	a.s += at, a.n -= (uint32_t)at;
	b.s += at, b.n -= (uint32_t)at;
	differ(v, i, (int64_t)at, key, &a, &b);
}

static void compare_sample(struct infer_replay_verdict *v, int32_t i, const struct json *recorded,
                           const struct json *got)
{
	compare_lists(v, i, recorded, got);
	for (size_t k = 0; k < sizeof fields / sizeof *fields; k++) {
		const struct json *a = json_get(recorded, fields[k].key),
				  *b = json_get(got, fields[k].key);

		if (!a)
			continue;
		v->compared |= fields[k].part;
		if (!same_json(a, b))
			differ_text(v, i, fields[k].key, a, b);
	}
}

/* Compare `usage`, without cached_tokens: it depends on other requests. */
static void compare_usage(struct infer_replay_verdict *v, const struct json *recorded,
                          const struct json *got, const char *key)
{
	const struct json *a = json_get(json_get(recorded, "usage"), key),
			  *b = json_get(json_get(got, "usage"), key);

	if (!a)
		return;
	v->compared |= INFER_REPLAY_USAGE;
	if (!same_json(a, b))
		differ(v, -1, -1, key, a, b);
}

static void compare_values(struct infer_replay_verdict *v, const struct json *recorded,
                           const struct json *got)
{
	const struct json *list = json_get(recorded, "choices"),
			  *b = json_first(json_get(got, "choices"));
	int32_t i = 0;

	compare_usage(v, recorded, got, "prompt_tokens");
	if (!json_is_array(list)) {
		compare_sample(v, 0, recorded, got);
	} else {
		json_each(a, list) {
			compare_sample(v, i++, a, b);
			b = b ? b->next : NULL;
		}
		if (b)
			differ(v, i, -1, "choices", NULL, b);
	}
	compare_usage(v, recorded, got, "completion_tokens");
}

int infer_replay_compare(const infer_replay *p, const struct infer_answer *a,
                         struct infer_replay_verdict *v, infer_error *err)
{
	struct infer_answer answer = *a;
	infer_writer *w;
	const struct json *got;
	struct arena mem;

	*v = (struct infer_replay_verdict){ .sample = -1, .position = -1 };
	TRY(infer_writer_new(&w, err));
	arena_init(&mem, MEM_RECORD);
	answer.model = (struct infer_str){ "", 0 };
	int rc = infer_api_put(w, &answer, err);

	if (!rc)
		rc = jread(&got, &mem, w->text.at, w->text.len, "the answer", err);
	if (!rc)
		compare_values(v, p->body, got);
	arena_fini(&mem);
	infer_writer_free(w);
	return rc;
}

void infer_replay_compare_scores(const infer_replay *p, const float *logprobs, size_t n,
                                 struct infer_replay_verdict *v)
{
	const struct json *list = json_get(p->body, "logprobs"), *a = json_first(list);

	*v = (struct infer_replay_verdict){ .sample = -1, .position = -1 };
	if (!json_is_array(list))
		return;
	v->compared = INFER_REPLAY_TOKENS | INFER_REPLAY_LOGPROBS;
	for (size_t i = 0; i < n; i++, a = a ? a->next : NULL) {
		float x = logprobs[i];
		int finite = i && x - x == 0;
		struct json now = { .kind = JSON_NULL };
		char digits[32];

		if (finite) /* with as many digits as in records */
			jread_num(&now, digits,
			          (size_t)snprintf(digits, sizeof digits, "%.9g", (double)x));
		if (finite ? json_is_number(a) && (float)json_double(a) == x : json_is_null(a))
			continue;
		differ(v, -1, (int64_t)i, "logprob", a, &now);
	}
}

/* ---- the verdict as a record ---- */

static void print_value(struct jwrite *w, const char *key, const char *value)
{
	jw_str(w, key, *value ? value : NULL);
}

static void put_difference(struct jwrite *w, const struct infer_replay_verdict *v)
{
	jw_object(w, "difference");
	jw_str(w, "field", v->field);
	if (v->sample >= 0)
		jw_int(w, "sample", v->sample);
	if (v->position >= 0)
		jw_int(w, "position", v->position);
	print_value(w, "recorded", v->recorded);
	print_value(w, "got", v->got);
	jw_end(w);
}

int infer_write_replay(infer_records *out, const infer_replay *p,
                       const struct infer_replay_verdict *v, const struct infer_run_info *run,
                       infer_error *err)
{
	static const char *const names[] = { "tokens",    "logprobs",   "top",           "text",
		                             "reasoning", "tool_calls", "finish_reason", "usage" };
	struct jwrite *w = infer_records_begin(out, INFER_KIND_REPLAY);

	jw_value(w, "id", p->id_value);
	jw_int(w, "line", p->line);
	jw_bool(w, "same", !v->differs);
	jw_array(w, "compared");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (v->compared >> i & 1)
			jw_str(w, NULL, names[i]);
	jw_end(w);
	if (v->differs)
		put_difference(w, v);
	record_run(out, run);
	return infer_records_end(out, err);
}
