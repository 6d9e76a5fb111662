/* base/uri.c - resolve URI references: RFC 3986, 5.2. */
#include "base/uri.h"

#include <string.h>

struct uri_part {
	const char *at;
	size_t n;
	int there;
};

struct uri {
	struct uri_part scheme, authority, path, query;
};

/* Split a URI reference (RFC 3986, appendix B) without its fragment. */
static struct uri split_uri(const char *s, size_t n)
{
	const char *end = memchr(s, '#', n);
	struct uri u = { 0 };
	size_t k = 0;

	n = end ? (size_t)(end - s) : n;
	while (k < n && !strchr(":/?", s[k]))
		k++;
	if (k && k < n && s[k] == ':') {
		u.scheme = (struct uri_part){ s, k, 1 };
		s += k + 1;
		n -= k + 1;
	}
	if (n >= 2 && s[0] == '/' && s[1] == '/') {
		for (k = 2; k < n && s[k] != '/' && s[k] != '?'; k++)
			;
		u.authority = (struct uri_part){ s + 2, k - 2, 1 };
		s += k;
		n -= k;
	}
	for (k = 0; k < n && s[k] != '?'; k++)
		;
	u.path = (struct uri_part){ s, k, 1 };
	if (k < n)
		u.query = (struct uri_part){ s + k + 1, n - k - 1, 1 };
	return u;
}

/* Remove the segments . and .. in place (5.2.4); returns the new length. */
static size_t remove_dots(char *s, size_t n)
{
	size_t out = 0;

	for (size_t i = 0; i < n;) {
		size_t k = i + 1;

		while (k < n && s[k] != '/')
			k++;
		/* s[i .. k) begins with a slash, or is the first segment */
		const char *seg = s + i + (s[i] == '/');
		const size_t len = k - i - (s[i] == '/');

		if (len == 2 && !memcmp(seg, "..", 2)) {
			while (out && s[--out] != '/')
				;
			if (k == n)
				s[out++] = '/';
		} else if (len == 1 && *seg == '.') {
			if (k == n)
				s[out++] = '/';
		} else {
			memmove(s + out, s + i, k - i);
			out += k - i;
		}
		i = k;
	}
	return out;
}

static void append_part(char *to, size_t *n, const char *before, struct uri_part p,
                        const char *after)
{
	if (!p.there)
		return;
	memcpy(to + *n, before, strlen(before));
	*n += strlen(before);
	memcpy(to + *n, p.at, p.n);
	*n += p.n;
	memcpy(to + *n, after, strlen(after));
	*n += strlen(after);
}

size_t uri_resolve(char *to, char *path, const char *base, size_t base_n, const char *ref, size_t n)
{
	struct uri b = split_uri(base, base_n), r = split_uri(ref, n);
	const struct uri_part own = r.path;
	size_t len = 0, path_n = 0;

	if (!r.scheme.there) {
		r.scheme = b.scheme;
		if (!r.authority.there) {
			r.authority = b.authority;
			if (!own.n) {
				r.path = b.path;
				r.query = r.query.there ? r.query : b.query;
			} else if (*own.at != '/') {
				/* merge paths: 5.2.3 */
				path_n = b.path.n;
				while (path_n && b.path.at[path_n - 1] != '/')
					path_n--;
				memcpy(path, b.path.at, path_n);
				if (b.authority.there && !b.path.n)
					path[path_n++] = '/';
				memcpy(path + path_n, own.at, own.n);
				r.path = (struct uri_part){ path, path_n + own.n, 1 };
			}
		}
	}
	memmove(path, r.path.at, r.path.n);
	if (r.path.n && (*r.path.at == '/' || r.authority.there))
		r.path.n = remove_dots(path, r.path.n);
	r.path.at = path;
	append_part(to, &len, "", r.scheme, ":");
	append_part(to, &len, "//", r.authority, "");
	append_part(to, &len, "", r.path, "");
	append_part(to, &len, "?", r.query, "");
	return len;
}
