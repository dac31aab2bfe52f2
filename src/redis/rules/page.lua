#!lua flags=no-writes
-- Reads one page of the rule book. Pages with the same version and mark are of one book.
-- uses: shard
--
-- KEYS[1]  the shard's tag
-- ARGV     now | '' (unused), first byte of the page, its bytes, version and digest of the book that the caller has | '', bytes of
--          that book
-- Answers  { 'same' }: the caller has it | { 'page', version in force, mark | '', bytes of the whole book, page }: the page begins
--          with the first character at that byte or after it, and so does the next one

expect_arguments(5)
local from, bytes = whole(ARGV[2]), whole(ARGV[3])
expect('meta', 'book')
local values = redis.call('HMGET', K.meta, 'book', 'mark')
local mark, size = values[2] or '', redis.call('STRLEN', K.book)
-- Also by its length: a foreign text in its place leaves the mark as it was.
local is_known = ARGV[4] ~= '' and string.sub(mark, 1, #ARGV[4] + 1) == ARGV[4] .. ' ' and size == whole(ARGV[5])
if is_known then return { 'same' } end
-- With the rest of a character that begins in it: three bytes at most.
local raw = redis.call('GETRANGE', K.book, from, from + bytes + 2)
local function character_from(place)
  while place <= #raw and math.floor(string.byte(raw, place) / 64) == 2 do place = place + 1 end
  return place
end
local page = string.sub(raw, character_from(1), character_from(bytes + 1) - 1)
return { 'page', text(counter(values[1])), mark, size, page }
