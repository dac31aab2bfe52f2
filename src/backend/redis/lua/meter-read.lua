#!lua flags=no-writes
-- What is known of a meter.
-- uses: meter
--
-- KEYS[1]  the meter's level
-- ARGV     now | ''
-- Answers  { now } where nothing is kept | { now, level, at, blockedUntil }

local now, state = text(read_now(ARGV[1])), read_level()
if not state then return { now } end
return { now, text(state.level), text(state.at), text(state.blockedUntil) }
