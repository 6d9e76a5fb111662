/* hub/range.h (private) - a file that is downloaded in pieces, and its state on disk.
 *
 * The file has the content [0, bytes), and after it a footer: the name of the format, the ETag, the
 * sizes, and for each piece the number of bytes stored from its start.  A count is written after
 * the bytes that it counts, so after a kill -9 at any moment the counts are exact or too low.
 * After a power failure they may be too high: then the hash at the end differs, and the download is
 * restarted.  A file without a footer and of the right size is complete; any other content is
 * discarded. */
#ifndef HUB_RANGE_H
#define HUB_RANGE_H
#include "base/sha1.h"
#include "base/sha256.h"
#include "hub/net.h"

struct hub_piece {
	uint64_t got;   /* bytes stored, from the start of the piece */
	uint64_t saved; /* value of `got` in the footer */
	int active;     /* a request is fetching the piece */
};
struct hub_ranges {
	int fd;
	uint64_t bytes, piece;
	char etag[72];
	int is_lfs;
	struct hub_piece *at;
	size_t n;
	uint64_t have;    /* bytes of the file stored */
	uint64_t resumed; /* bytes of `have` from an earlier download */
	/* state of the hash of the content [0, hashed) */
	uint64_t hashed;
	struct sha256 sha256;
	struct sha1 sha1;
	uint8_t *room;
};
/* Read the state from fd, or begin anew if there is none.
 * INFER_EIO, INFER_ENOMEM */
int hub_ranges_open(struct hub_ranges *r, int fd, const struct hub_file_info *i, uint64_t piece,
                    infer_error *err);
void hub_ranges_fini(struct hub_ranges *r);
/* Discard the content and begin anew. */
int hub_ranges_reset(struct hub_ranges *r, infer_error *err);

uint64_t hub_ranges_bytes(const struct hub_ranges *r, size_t piece); /* size of this piece */
/* Return the first piece that is neither complete nor active; r->n if there is none. */
size_t hub_ranges_next(const struct hub_ranges *r);
/* Write the bytes at offset `at` of the file, except those that are stored already. */
int hub_ranges_put(struct hub_ranges *r, uint64_t at, const void *bytes, size_t n,
                   infer_error *err);
/* Write the counts that have changed to the footer. */
int hub_ranges_save(struct hub_ranges *r, infer_error *err);
/* Hash at most `most` further bytes, and stop at the first byte that is not stored. */
int hub_ranges_hash(struct hub_ranges *r, uint64_t most, infer_error *err);
/* When all is stored and hashed: compare the hash with the ETag, and remove the footer.  *same 0:
 * the hash differs. */
int hub_ranges_end(struct hub_ranges *r, int *same, infer_error *err);
#endif
