/* hub/ref.c - parse references to repositories of the hub. */
#include "hub/ref.h"
#include "base/err.h"

#include <stdio.h>
#include <string.h>

static int is_alnum(char c)
{
	return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* True for one part of ORG/REPO: letters, digits, and - . _ inside, without "--" and "..". */
static int is_name(const char *s, size_t n)
{
	if (!n || s[0] == '.' || s[0] == '-' || s[n - 1] == '.' || s[n - 1] == '-')
		return 0;
	for (size_t i = 0; i < n; i++) {
		if (!is_alnum(s[i]) && s[i] != '-' && s[i] != '.' && s[i] != '_')
			return 0;
		if (i && s[i] == s[i - 1] && (s[i] == '-' || s[i] == '.'))
			return 0;
	}
	return 1;
}

int hub_repo_ok(const char *s, size_t n)
{
	const char *slash = memchr(s, '/', n);
	size_t org = slash ? (size_t)(slash - s) : n;

	return n < HUB_REPO && slash && is_name(s, org) && is_name(slash + 1, n - org - 1);
}

int hub_rev_ok(const char *s, size_t n)
{
	if (!n || n >= HUB_REV || s[n - 1] == '/')
		return 0;
	for (size_t i = 0; i < n; i++) {
		int first = !i || s[i - 1] == '/';

		if (!is_alnum(s[i]) && !strchr("-._/+", s[i]))
			return 0;
		if (!s[i] || (first && (s[i] == '/' || s[i] == '.' || s[i] == '-')))
			return 0;
		if (i && s[i] == '.' && s[i - 1] == '.')
			return 0;
	}
	return 1;
}

int hub_is_hex(const char *s, size_t n)
{
	return strlen(s) == n && strspn(s, "0123456789abcdef") == n;
}

/* Refuse hf://ORG/REPO, hf: before a URL, and ORG/REPO/FILE, with the correct reference in the
 * message. */
static int refuse_form(const char *text, const char *s, infer_error *err)
{
	static const char *const starts[] = { "//", "https://huggingface.co/", "https://hf.co/" };
	static const char *const views[] = { "/blob/main", "/resolve/main", "/tree/main" };
	const char *rest;
	size_t n;

	for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
		if (!strncmp(s, starts[i], strlen(starts[i])))
			s += strlen(starts[i]);
	n = strcspn(s, "/");
	n += s[n] == '/';
	n += strcspn(s + n, "/@:?#");
	rest = s + n;
	for (size_t i = 0; i < sizeof views / sizeof *views; i++)
		if (!strncmp(rest, views[i], strlen(views[i])))
			rest += strlen(views[i]);
	if (!hub_repo_ok(s, n))
		return INFER_OK;
	if (*rest == '/')
		return err_set(err, INFER_EINVAL, "%.80s: must be hf:%.*s%s%.*s", text, (int)n, s,
		               rest[1] ? ":" : "", (int)strcspn(rest + 1, "?#"), rest + 1);
	return err_set(err, INFER_EINVAL, "%.80s: must be hf:%.*s%.*s", text, (int)n, s,
	               (int)strcspn(rest, "?#"), rest);
}

int hub_ref_parse_bare(struct hub_ref *r, const char *text, infer_error *err)
{
	const char *s = strncmp(text, "hf:", 3) ? text : text + 3;
	size_t n = strcspn(s, "@:"), rev_n;

	*r = (struct hub_ref){ .rev = "main" };
	if (!hub_repo_ok(s, n)) {
		TRY(refuse_form(text, s, err));
		return err_set(err, INFER_EINVAL,
		               "%.100s: '%.*s' must be ORG/REPO, a name of the hub: "
		               "hf:ORG/REPO[@REV][:FILE-OR-QUANT]",
		               text, n > 60 ? 60 : (int)n, s);
	}
	memcpy(r->repo, s, n);
	const char *slash = strchr(r->repo, '/');

	snprintf(r->folder, sizeof r->folder, "models--%.*s--%s", (int)(slash - r->repo), r->repo,
	         slash + 1);
	s += n;
	if (*s == '@') {
		s++;
		rev_n = strcspn(s, ":");
		if (!hub_rev_ok(s, rev_n))
			return err_set(err, INFER_EINVAL,
			               "%.100s: '%.*s' must be a branch, a tag or a commit", text,
			               rev_n > 60 ? 60 : (int)rev_n, s);
		memcpy(r->rev, s, rev_n);
		r->rev[rev_n] = 0;
		r->has_rev = 1;
		s += rev_n;
	}
	r->is_commit = hub_is_hex(r->rev, HUB_COMMIT - 1);
	snprintf(r->base, sizeof r->base, "hf:%s%s%s", r->repo, r->has_rev ? "@" : "",
	         r->has_rev ? r->rev : "");
	if (*s != ':')
		return INFER_OK;
	r->what = s + 1;
	return *r->what ? INFER_OK
	                : err_set(err, INFER_EINVAL,
	                          "%.100s: a file or a quantisation must follow the colon", text);
}

int hub_ref_parse(struct hub_ref *r, const char *text, infer_error *err)
{
	if (strncmp(text, "hf:", 3) != 0)
		return err_set(err, INFER_EINVAL, "%.100s: must begin with hf:", text);
	return hub_ref_parse_bare(r, text, err);
}
