/* hf/members.c - check the members of a quantisation config against a table. */
#include "hf/members.h"
#include "base/err.h"

#include <string.h>

static const struct hf_member *find_row(const struct json *v, const struct hf_member *rows,
                                        size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (strlen(rows[i].key) == v->key_n && !memcmp(rows[i].key, v->key, v->key_n))
			return &rows[i];
	return NULL;
}

/* True if v is one of the words. */
static int is_allowed_word(const struct json *v, const char *words)
{
	for (const char *s = words; *s;) {
		size_t n = strcspn(s, " ");

		if (n == v->n && !memcmp(s, v->s, n))
			return 1;
		s += n + (s[n] == ' ');
	}
	return 0;
}

static int check_string(struct hf_dir *d, const struct json *v, const struct hf_member *row,
                        infer_error *err)
{
	char name[FILE_QUOTE];

	if (!json_is_string(v))
		return hf_bad_quant(d, INFER_EFORMAT, err, "\"%s\" must be a string", row->key);
	if (!row->words || is_allowed_word(v, row->words))
		return INFER_OK;
	return hf_bad_quant(d, INFER_EUNSUP, err, "\"%s\" is %s: must be %s%s", row->key,
	                    file_quote(name, v->s, v->n), strchr(row->words, ' ') ? "one of " : "",
	                    row->words);
}

static int check_whole(struct hf_dir *d, const struct json *v, const struct hf_member *row,
                       infer_error *err)
{
	if (!json_is_whole(v))
		return hf_bad_quant(d, INFER_EFORMAT, err, "\"%s\" must be an integer", row->key);
	if (v->kind == JSON_UINT || v->i < row->low || v->i > row->high)
		return hf_bad_quant(d, INFER_EUNSUP, err, "\"%s\" is %lld: must be %lld ... %lld",
		                    row->key, v->kind == JSON_UINT ? INT64_MAX : (long long)v->i,
		                    (long long)row->low, (long long)row->high);
	return INFER_OK;
}

static int check_list(struct hf_dir *d, const struct json *v, const struct hf_member *row,
                      infer_error *err)
{
	int strings = json_is_array(v);

	json_each(one, strings ? v : NULL)
		strings &= json_is_string(one);
	return strings ? INFER_OK
	               : hf_bad_quant(d, INFER_EFORMAT, err, "\"%s\" must be an array of strings",
	                              row->key);
}

static int check_bool(struct hf_dir *d, const struct json *v, const struct hf_member *row,
                      infer_error *err)
{
	if (!json_is_bool(v))
		return hf_bad_quant(d, INFER_EFORMAT, err, "\"%s\" must be true or false",
		                    row->key);
	if ((row->kind == MEMBER_TRUE && !json_is(v, JSON_TRUE)) ||
	    (row->kind == MEMBER_FALSE && !json_is(v, JSON_FALSE)))
		return hf_bad_quant(d, INFER_EUNSUP, err, "\"%s\" must be %s", row->key,
		                    row->kind == MEMBER_TRUE ? "true" : "false");
	return INFER_OK;
}

static int check_member(struct hf_dir *d, const struct json *v, const struct hf_member *row,
                        infer_error *err)
{
	if (json_is_null(v))
		return INFER_OK;
	switch (row->kind) {
	case MEMBER_ANY:
		return INFER_OK;
	case MEMBER_BOOL:
	case MEMBER_FALSE:
	case MEMBER_TRUE:
		return check_bool(d, v, row, err);
	case MEMBER_WHOLE:
		return check_whole(d, v, row, err);
	case MEMBER_STRING:
		return check_string(d, v, row, err);
	case MEMBER_LIST:
		return check_list(d, v, row, err);
	}
	return INFER_OK;
}

int hf_check_members(struct hf_dir *d, const struct json *q, const struct hf_member *rows, size_t n,
                     infer_error *err)
{
	char name[FILE_QUOTE];

	json_each(v, q) {
		const struct hf_member *row = find_row(v, rows, n);

		if (!row)
			return hf_bad_quant(d, INFER_EUNSUP, err, "%s is not a known member",
			                    file_quote(name, v->key, v->key_n));
		TRY(check_member(d, v, row, err));
	}
	return INFER_OK;
}
