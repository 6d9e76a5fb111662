/* infer-bench/workload.c - the requests to a server, from a seed or a trace. */
#include "workload.h"
#include <infer/statistic.h>
#include "common/file.h"
#include "base/err.h"
#include "base/fmath.h"
#include "base/jread.h"
#include "base/rng.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Random streams of the seed; OF_PROMPTS + i is the stream of prompt i. */
enum { OF_PROMPT = 1, OF_OUTPUT, OF_ARRIVAL, OF_SHARED, OF_WARM, OF_PROMPTS = 16 };
enum { MAX_TRACE_BYTES = 64 << 20, MAX_TOKENS = 1 << 24, BLOCK = 512 };

/* Means of Kwon+ 2023, figure 11. The spread is our estimate: lengths of chats are lognormal with sigma of
 * about 1.2, and median = mean / e^(sigma^2 / 2). */
static const struct {
	const char *name;
	struct dist prompt, output;
} named[] = {
	{ "sharegpt", { DIST_LOGNORMAL, 78.5, 1.2 }, { DIST_LOGNORMAL, 164.5, 1.2 } },
	{ "alpaca", { DIST_LOGNORMAL, 17.0, 0.5 }, { DIST_LOGNORMAL, 35.5, 1.0 } },
};

/* Parse "A" or "A,B". Returns the count of numbers; 0: malformed. */
static int parse_numbers(const char *text, double *a, double *b)
{
	char *end;

	*a = strtod(text, &end);
	if (end == text || !(*a > 0) || *a > MAX_TOKENS)
		return -1;
	if (!b)
		return *end ? -1 : 0;
	if (*end != ',')
		return -1;
	text = end + 1;
	*b = strtod(text, &end);
	return end == text || *end || !(*b >= 0) || *b > MAX_TOKENS ? -1 : 0;
}

/* Parse "A" or "A-B". */
static int parse_range(struct dist *d, const char *text)
{
	char *end;
	long a = strtol(text, &end, 10), b = a;

	if (*text < '0' || *text > '9')
		return -1;
	if (*end == '-' && end[1] >= '0' && end[1] <= '9')
		b = strtol(end + 1, &end, 10);
	if (*end || a < 1 || b < a || b > MAX_TOKENS)
		return -1;
	*d = (struct dist){ a == b ? DIST_FIXED : DIST_UNIFORM, (double)a, (double)b };
	return 0;
}

int dist_take(struct dist *d, const char *text, const char *option, int output, infer_error *err)
{
	int bad;

	for (size_t i = 0; i < sizeof named / sizeof *named; i++)
		if (!strcmp(text, named[i].name)) {
			*d = output ? named[i].output : named[i].prompt;
			return INFER_OK;
		}
	if (!strncmp(text, "normal:", 7))
		d->kind = DIST_NORMAL, bad = parse_numbers(text + 7, &d->a, &d->b);
	else if (!strncmp(text, "lognormal:", 10))
		d->kind = DIST_LOGNORMAL, bad = parse_numbers(text + 10, &d->a, &d->b) || d->b > 5;
	else if (!strncmp(text, "exp:", 4))
		d->kind = DIST_EXP, bad = parse_numbers(text + 4, &d->a, NULL);
	else
		bad = parse_range(d, text);
	return bad ? err_set(err, INFER_EINVAL,
	                     "%s: '%.60s' must be a length: 128, 64-512, normal:200,40, "
	                     "lognormal:100,1.1, exp:100, sharegpt or alpaca",
	                     option, text)
	           : INFER_OK;
}

/* Return a standard normal number (Box-Muller). */
static double normal(uint64_t seed, uint64_t i)
{
	double u = 1 - rng_unit(seed, 2 * i), v = rng_unit(seed, 2 * i + 1);

	return sqrt(-2 * fm_log(u)) * fm_cos(6.283185307179586 * v);
}

int32_t dist_draw(const struct dist *d, uint64_t seed, uint64_t i, int32_t most)
{
	double x = d->a;

	switch (d->kind) {
	case DIST_FIXED:
		break;
	case DIST_UNIFORM:
		x = floor(d->a + rng_unit(seed, i) * (d->b - d->a + 1));
		break;
	case DIST_NORMAL:
		x = d->a + d->b * normal(seed, i);
		break;
	case DIST_LOGNORMAL:
		x = d->a * fm_exp(d->b * normal(seed, i));
		break;
	case DIST_EXP:
		x = -d->a * fm_log(1 - rng_unit(seed, i));
		break;
	}
	x = floor(x + 0.5);
	return x < 1 ? 1 : x > most ? most : (int32_t)x;
}

/* ---- prompts ---- */

/* Words that most vocabularies have as one token. */
static const char words[][6] = {
	"the",  "of",   "and",  "to",   "in",   "is",    "you",  "that", "it",   "he",   "was",
	"for",  "on",   "are",  "as",   "with", "his",   "they", "at",   "be",   "this", "have",
	"from", "or",   "one",  "had",  "by",   "word",  "but",  "not",  "what", "all",  "were",
	"we",   "when", "your", "can",  "said", "there", "use",  "an",   "each", "she",  "do",
	"how",  "if",   "will", "up",   "then", "them",  "some", "her",  "make", "like", "him",
	"into", "time", "has",  "look", "two",  "more",  "go",   "see",  "no",
};

void workload_words(uint64_t seed, uint64_t stream, int32_t n, struct buf *to)
{
	uint64_t own = rng_hash(seed, &stream, sizeof stream);

	for (int32_t i = 0; i < n; i++) {
		double at = rng_unit(own, (uint64_t)i) * (double)(sizeof words / sizeof *words);

		if (to->len)
			buf_putc(to, ' ');
		buf_puts(to, words[(size_t)at]);
	}
}

static int32_t words_of(const struct workload *w, double tokens)
{
	double n = floor(tokens / w->tokens_per_word + 0.5);

	return n < 1 ? 1 : (int32_t)n;
}

void workload_prompt(const struct workload *w, int64_t i, struct buf *to)
{
	const struct planned *p = i < 0 ? &w->at[(-1 - i) % w->n] : &w->at[i];
	double left = p->tokens - w->tokens_beside;
	uint64_t own = i < 0 ? (uint64_t)-i << 32 : (uint64_t)i;

	buf_clear(to);
	if (p->text) {
		buf_puts(to, p->text);
		return;
	}
	if (w->shared && left > 1) {
		double n = left - 1 < w->shared ? left - 1 : w->shared;

		workload_words(w->seed, OF_SHARED, words_of(w, n), to);
		left -= n;
	}
	for (int32_t b = 0; i >= 0 && b < p->n_blocks && left > BLOCK; b++, left -= BLOCK)
		workload_words(w->seed, ((uint64_t)p->blocks[b] << 32) + OF_SHARED,
		               words_of(w, BLOCK), to);
	workload_words(w->seed, OF_PROMPTS + own, words_of(w, left), to);
}

/* ---- traces ---- */

/* Return the first member with one of the names; NULL ends the list of names. */
static const struct json *find_member(const struct json *o, const char *const *names)
{
	const struct json *v = NULL;

	while (!v && *names)
		v = json_get(o, *names++);
	return v;
}

static int trace_count(int32_t *to, const struct json *v, const char *what, int64_t line,
                       const char *path, infer_error *err)
{
	double x = json_double(v);

	if (!json_is_number(v) || x < 1 || x > MAX_TOKENS)
		return err_set(err, INFER_EFORMAT,
		               "%s: line %lld: %s must be a number from 1 to %d", path,
		               (long long)line, what, MAX_TOKENS);
	*to = (int32_t)x;
	return INFER_OK;
}

static int trace_blocks(struct workload *w, struct planned *p, const struct json *list)
{
	int64_t *ids = arena_alloc(&w->mem, json_count(list) + 1, sizeof *ids);

	if (!ids)
		return -1;
	p->blocks = ids;
	json_each(v, list)
		ids[p->n_blocks++] = (int64_t)json_double(v);
	return 0;
}

static int trace_line(struct workload *w, const struct json *o, int64_t line, const char *path,
                      infer_error *err)
{
	static const char *const at[] = { "at_ms", "timestamp", NULL };
	static const char *const in[] = { "prompt_tokens", "input_length", NULL };
	static const char *const out[] = { "max_tokens", "output_length", NULL };
	struct planned *p = &w->at[w->n];
	const struct json *when = find_member(o, at), *text = json_get(o, "prompt");
	double ms = json_double(when);

	if (!json_is_number(when) || ms < 0 || ms > 1e12)
		return err_set(err, INFER_EFORMAT,
		               "%s: line %lld: at_ms (or timestamp) must be milliseconds from 0",
		               path, (long long)line);
	p->at_ns = (int64_t)(ms * 1e6);
	TRY(trace_count(&p->max_tokens, find_member(o, out), "max_tokens (or output_length)", line,
	                path, err));
	if (json_is_string(text))
		p->text = json_cstr(&w->mem, text);
	else
		TRY(trace_count(&p->tokens, find_member(o, in),
		                "prompt, prompt_tokens (or input_length)", line, path, err));
	if (trace_blocks(w, p, json_get(o, "hash_ids")) || w->mem.bad)
		return err_nomem(err);
	w->n++;
	return INFER_OK;
}

static int by_time(const void *a, const void *b)
{
	const struct planned *x = a, *y = b;

	return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

static int trace_read(struct workload *w, const char *path, const struct workload_ask *o,
                      infer_error *err)
{
	struct buf text;
	int64_t line = 0, most = o->requests_given ? o->requests : INT64_MAX, lines = 1;
	int rc;

	buf_init(&text, MEM_BASE);
	rc = file_read(&text, path, MAX_TRACE_BYTES, err);
	for (size_t i = 0; i < text.len; i++)
		lines += text.at[i] == '\n';
	w->at = arena_alloc(&w->mem, (size_t)lines, sizeof *w->at);
	if (!rc && !w->at)
		rc = err_nomem(err);
	for (size_t at = 0, n; !rc && at < text.len && w->n < most; at += n + 1) {
		const char *end = memchr(text.at + at, '\n', text.len - at);
		const struct json *v;

		n = end ? (size_t)(end - text.at) - at : text.len - at;
		line++;
		if (!n)
			continue;
		char *own = arena_strndup(&w->mem, text.at + at, n);

		rc = own ? jread(&v, &w->mem, own, n, path, err) : err_nomem(err);
		if (!rc)
			rc = trace_line(w, v, line, path, err);
	}
	buf_fini(&text);
	if (!rc && !w->n)
		rc = err_set(err, INFER_EFORMAT, "%s: has no request", path);
	if (!rc)
		qsort(w->at, (size_t)w->n, sizeof *w->at, by_time);
	for (int64_t i = w->n; !rc && i-- > 0;)
		w->at[i].at_ns -= w->at[0].at_ns;
	return rc;
}

int workload_make(struct workload *w, const struct workload_ask *o, infer_error *err)
{
	struct dist in, out;
	double at = 0;

	/* hash the seed first, so that streams of neighbouring seeds do not overlap */
	*w = (struct workload){ .seed = rng_hash(0, &o->seed, sizeof o->seed),
		                .shared = (int32_t)o->shared,
		                .tokens_per_word = 1 };
	arena_init(&w->mem, MEM_BASE);
	if (o->trace)
		return trace_read(w, o->trace, o, err);
	TRY(dist_take(&in, o->prompt ? o->prompt : "512", "-p", 0, err));
	TRY(dist_take(&out, o->output ? o->output : "128", o->output_option, 1, err));
	w->at = arena_alloc(&w->mem, (size_t)o->requests, sizeof *w->at);
	if (!w->at)
		return err_set(err, INFER_ENOMEM, "out of memory for %lld requests",
		               (long long)o->requests);
	for (w->n = 0; w->n < o->requests; w->n++) {
		struct planned *p = &w->at[w->n];
		uint64_t i = (uint64_t)w->n, s = w->seed;

		p->tokens = dist_draw(&in, rng_hash(s, &(int){ OF_PROMPT }, sizeof(int)), i,
		                      MAX_TOKENS);
		p->max_tokens = dist_draw(&out, rng_hash(s, &(int){ OF_OUTPUT }, sizeof(int)), i,
		                          MAX_TOKENS);
		p->at_ns = (int64_t)(at * 1e9);
		if (o->rate > 0) /* Poisson: intervals are exponential */
			at += -fm_log(1 -
			              rng_unit(rng_hash(s, &(int){ OF_ARRIVAL }, sizeof(int)), i)) /
			      o->rate;
	}
	return INFER_OK;
}

void workload_fini(struct workload *w) { arena_fini(&w->mem); }
