/* api/rank.c - reranking, and scores of pairs: how well texts answer a query */
#include "api/api.h"
#include "api/fields.h"
#include "base/err.h"
#include "tok/tok.h"

#include <stdio.h>
#include <string.h>

enum { PAIRS = 2048 }; /* maximum of one request */

/* ---- pairs as prompts ---- */

/* A prompt as bytes; plain[i] 1: byte i is text of the request, where no control token is
 * parsed. */
struct marked {
	struct buf text, plain;
};

static void put_marked(struct marked *m, const char *at, size_t n, int plain)
{
	buf_put(&m->text, at, n);
	for (size_t i = 0; i < n; i++)
		buf_putc(&m->plain, (char)plain);
}

static void fill_template(struct marked *m, struct infer_str template, struct infer_str query,
                          struct infer_str document)
{
	static const char *const names[] = { "{query}", "{document}" };

	for (size_t at = 0; at < template.len;) {
		size_t left = template.len - at, n = 0;
		int which = 0;

		for (int i = 0; i < 2 && !n; i++)
			if (left >= strlen(names[i]) &&
			    !memcmp(template.at + at, names[i], strlen(names[i]))) {
				n = strlen(names[i]);
				which = i;
			}
		if (n)
			put_marked(m, which ? document.at : query.at,
			           which ? document.len : query.len, 1);
		else
			put_marked(m, template.at + at, 1, 0);
		at += n ? n : 1;
	}
}

static int encode_by_template(struct job *j, struct infer_str template, struct infer_str query,
                              struct infer_str document, int32_t **ids, size_t *n, infer_error *err)
{
	struct marked m;
	int rc;

	buf_init(&m.text, MEM_JOB);
	buf_init(&m.plain, MEM_JOB);
	fill_template(&m, template, query, document);
	rc = m.text.bad || m.plain.bad ? err_nomem(err)
	                               : tok_encode(infer_model_tokenizer(j->o->model), m.text.at,
	                                            m.text.len, (const unsigned char *)m.plain.at,
	                                            INFER_ENCODE_SPECIAL, ids, n, err);
	buf_fini(&m.text);
	buf_fini(&m.plain);
	return rc;
}

/* Encode a query and a document as one prompt: with the template of the model file; without a
 * template, the document follows the query. */
static int encode_pair(struct job *j, struct infer_prompt *to, struct infer_str query,
                       struct infer_str document, infer_error *err)
{
	struct infer_str template = { NULL, 0 };
	int32_t *ids, *own;
	size_t n = 0, second = 0;

	TRY(infer_meta_str(infer_model_file(j->o->model), "tokenizer.chat_template.rerank",
	                   &template, NULL, err));
	if (template.len)
		TRY(encode_by_template(j, template, query, document, &ids, &n, err));
	else
		TRY(infer_encode_pair(infer_model_tokenizer(j->o->model), query, document, &ids, &n,
		                      &second, err));
	own = arena_alloc(&j->mem, n, sizeof *own);
	if (own && n)
		memcpy(own, ids, n * sizeof *own);
	infer_ids_free(ids);
	*to = (struct infer_prompt){
		.ids = own, .n = n, .text = document, .second = second < n ? second : 0
	};
	if (!own)
		return err_nomem(err);
	return n ? INFER_OK : err_set(err, INFER_EINVAL, "both texts of a pair are empty");
}

/* True if c is not the first byte of a UTF-8 character. */
static int is_inside(char c) { return ((unsigned char)c & 0xc0) == 0x80; }

/* Encode a pair as at most n tokens, truncating the document; n 0: no limit. */
static int fit_pair(struct job *j, struct infer_prompt *to, struct infer_str query,
                    struct infer_str document, size_t n, infer_error *err)
{
	/* bytes of the document: `low` fit, more than `high` do not */
	size_t low = 0, high = document.len, mid;

	TRY(encode_pair(j, to, query, document, err));
	if (!n || to->n <= n)
		return INFER_OK;
	while (low < high) {
		mid = low + (high - low + 1) / 2;
		while (mid < high && is_inside(document.at[mid]))
			mid++;
		TRY(encode_pair(j, to, query, (struct infer_str){ document.at, mid }, err));
		if (to->n <= n) {
			low = mid;
			continue;
		}
		do
			mid--;
		while (mid > low && is_inside(document.at[mid]));
		high = mid;
	}
	TRY(encode_pair(j, to, query, (struct infer_str){ document.at, low }, err));
	to->text = document;
	return INFER_OK;
}

/* ---- fields ---- */

static int begin_rank(struct job *j)
{
	static const char yes[] = "yes";
	infer_error *err = &j->j.fault.error;
	const infer_model *m = j->o->model;
	const struct infer_meta *labels;
	struct infer_model_info info;
	struct infer_str first;
	char key[128];

	infer_model_info(m, &info);
	if (embed_begin(j, err))
		return job_fault(j, NULL);
	j->j.request.embed = INFER_EMBED_RANK;
	if (!info.n_ranks) {
		err_set(err, INFER_EUNSUP, "the model has no head that ranks texts");
		job_fault(j, "model");
		j->j.fault.kind = INFER_FAULT_OFF;
		return err->code;
	}
	snprintf(key, sizeof key, "%s.classifier.output_labels", info.arch);
	labels = infer_file_meta(infer_model_file(m), key);
	if (info.n_ranks == 1 ||
	    (labels && labels->type == INFER_META_ARR && labels->elem_type == INFER_META_STR &&
	     labels->count == 2 &&
	     !infer_meta_str_at(infer_model_file(m), labels, 0, &first, NULL) &&
	     first.len == strlen(yes) && !memcmp(first.at, yes, first.len)))
		return INFER_OK;
	err_set(err, INFER_EUNSUP, "key %s: the labels of two scores must be yes and no", key);
	return job_fault(j, "model");
}

static const struct json *text_of(const struct json *v)
{
	return json_is_object(v) ? json_get(v, "text") : v;
}

/* Check that v is a list of texts or of {"text": ...}; with `one`, a text is accepted too. */
static int check_texts(const char *key, const struct json *v, int one, infer_error *err)
{
	if (one && json_is_string(v))
		return INFER_OK;
	if (!json_is_array(v) || !json_count(v))
		return err_set(err, INFER_EINVAL, "%s must be %sa list of at least one string", key,
		               one ? "a string or " : "");
	if (json_count(v) > PAIRS)
		return err_set(err, INFER_EINVAL, "%s has %zu entries: at most %d", key,
		               json_count(v), PAIRS);
	json_each(item, v)
		if (!json_is_string(text_of(item)))
			return err_set(err, INFER_EINVAL, "%s: every entry must be a string", key);
	return INFER_OK;
}

static int take_query(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	j->rank.query = v;
	return json_is_string(v) ? INFER_OK
	                         : err_set(err, INFER_EINVAL, "%s must be a string", key);
}

static int take_documents(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	if (j->rank.documents)
		return err_set(err, INFER_EINVAL, "documents and texts exclude each other");
	j->rank.documents = v;
	j->j.as_list = !strcmp(key, "texts");
	return check_texts(key, v, 0, err);
}

static int take_first(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	j->rank.query = v;
	return check_texts(key, v, 1, err);
}

static int take_second(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	j->rank.documents = v;
	return check_texts(key, v, 1, err);
}

static int take_best(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_whole(&j->j.dimensions, key, v, 1, INT32_MAX, err);
}

static int take_return(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_take_bool(&j->j.returns_documents, key, v, err);
}

static int take_raw(struct job *j, const char *key, const struct json *v, infer_error *err)
{
	return job_take_bool(&j->j.no_normalize, key, v, err);
}

static size_t count_texts(const struct json *v) { return json_is_array(v) ? json_count(v) : 1; }

static struct infer_str text_at(const struct json *v, size_t i)
{
	v = text_of(json_is_array(v) ? json_at(v, count_texts(v) == 1 ? 0 : i) : v);
	return (struct infer_str){ json_str(v), json_bytes(v) };
}

static int make_pairs(struct job *j, const char *other, infer_error *err)
{
	const struct json *a = j->rank.query, *b = j->rank.documents;
	size_t n = count_texts(b) > count_texts(a) ? count_texts(b) : count_texts(a), most;
	struct infer_prompt *p = arena_alloc(&j->mem, n, sizeof *p);

	if (count_texts(a) > 1 && count_texts(b) != count_texts(a)) {
		err_set(err, INFER_EINVAL, "%s has %zu entries, must have %zu", other,
		        count_texts(b), count_texts(a));
		return job_fault(j, other);
	}
	if (!p) {
		err_nomem(err);
		return job_fault(j, NULL);
	}
	if (embed_most(j, &most, err))
		return job_fault(j, "truncate_prompt_tokens");
	for (size_t i = 0; i < n; i++)
		if (fit_pair(j, &p[i], text_at(a, i), text_at(b, i), most, err))
			return job_fault(j, other);
	embed_set_prompts(j, p, n);
	return INFER_OK;
}

static int read_pairs(struct job *j, const struct json *body, const struct job_field *known,
                      const char *one, const char *other)
{
	infer_error *err = &j->j.fault.error;
	const char *none;

	if (begin_rank(j) || embed_fields(j, body, known, NULL))
		return err->code;
	none = !j->rank.query ? one : !j->rank.documents ? other : NULL;
	if (!none)
		return make_pairs(j, other, err);
	err_set(err, INFER_EINVAL, "%s is missing", none);
	return job_fault(j, none);
}

/* ---- reranking ---- */

static int read_rerank(struct job *j, const struct json *body)
{
	static const struct job_field known[] = {
		{ "query", take_query },
		{ "documents", take_documents },
		{ "texts", take_documents },
		{ "top_n", take_best },
		{ "return_documents", take_return },
		{ "return_text", take_return },
		{ "raw_scores", take_raw },
		{ "truncate", job_take_truncate },
		{ "truncate_prompt_tokens", job_take_most },
		{ "use_activation", job_take_normalize },
		{ "model", job_pass_text },
		{ "user", job_pass },
		{ "timeout", job_take_timeout },
		{ NULL, NULL },
	};

	return read_pairs(j, body, known, "query", "documents");
}

/* Return the index that follows `last` if scores are sorted best first, ties by index; -1: none. */
static int32_t next_best(const struct infer_answer *a, int32_t last)
{
	int32_t best = -1;

	for (int32_t i = 0; i < a->job->n; i++) {
		float x = a->choices[i].embedding[0];
		if (last >= 0) {
			float y = a->choices[last].embedding[0];
			if (x > y || (x == y && i <= last))
				continue;
		}
		if (best < 0 || x > a->choices[best].embedding[0])
			best = i;
	}
	return best;
}

static void put_ranked(struct jwrite *w, const struct infer_answer *a, const char *score,
                       int nested)
{
	int32_t most = a->job->dimensions ? a->job->dimensions : a->job->n;

	for (int32_t i = next_best(a, -1); i >= 0 && most--; i = next_best(a, i)) {
		struct infer_str text = infer_job_prompt(a->job, i).text;

		jw_object(w, NULL);
		jw_int(w, "index", i);
		jw_num(w, score, (double)a->choices[i].embedding[0]);
		if (a->job->returns_documents && nested)
			jw_object(w, "document");
		if (a->job->returns_documents)
			jw_strn(w, "text", text.at, text.len);
		if (a->job->returns_documents && nested)
			jw_end(w);
		jw_end(w);
	}
}

static void put_rerank(struct jwrite *w, const struct api_answer *f)
{
	part_name(w, "id", "rerank-", f->a->job);
	jw_str(w, "object", "list");
	jw_strn(w, "model", f->a->model.at, f->a->model.len);
	jw_array(w, "results");
	put_ranked(w, f->a, "relevance_score", 1);
	jw_end(w);
	embed_put_usage(w, f);
}

static void put_rerank_list(struct jwrite *w, const struct infer_answer *a)
{
	jw_array(w, NULL);
	put_ranked(w, a, "score", 0);
	jw_end(w);
}

const struct infer_api api_rerank = {
	.name = "rerank",
	.path = "/v1/rerank",
	.flags = API_WHOLE,
	.read = read_rerank,
	.put = put_rerank,
	.put_error = openai_put_error,
	.put_list = put_rerank_list,
};

/* ---- scores of pairs ---- */

static int read_score(struct job *j, const struct json *body)
{
	static const struct job_field known[] = {
		{ "text_1", take_first },
		{ "text_2", take_second },
		{ "queries", take_first },
		{ "documents", take_second },
		{ "items", take_second },
		{ "data_1", take_first },
		{ "data_2", take_second },
		{ "raw_scores", take_raw },
		{ "truncate_prompt_tokens", job_take_most },
		{ "use_activation", job_take_normalize },
		{ "model", job_pass_text },
		{ "user", job_pass },
		{ "timeout", job_take_timeout },
		{ NULL, NULL },
	};

	return read_pairs(j, body, known, "text_1", "text_2");
}

static void put_score(struct jwrite *w, const struct api_answer *f)
{
	const struct infer_answer *a = f->a;

	part_name(w, "id", "score-", a->job);
	jw_str(w, "object", "list");
	jw_int(w, "created", a->created);
	jw_strn(w, "model", a->model.at, a->model.len);
	jw_array(w, "data");
	for (int32_t i = 0; i < a->job->n; i++) {
		jw_object(w, NULL);
		jw_int(w, "index", i);
		jw_str(w, "object", "score");
		jw_num(w, "score", (double)a->choices[i].embedding[0]);
		jw_end(w);
	}
	jw_end(w);
	embed_put_usage(w, f);
}

const struct infer_api api_score = {
	.name = "score",
	.path = "/v1/score",
	.flags = API_WHOLE,
	.read = read_score,
	.put = put_score,
	.put_error = openai_put_error,
};
