-- Upserts as in upsert.lua, by clients that pause (milliseconds) between an answer and the next request.
dofile("upsert.lua")

function delay() return tonumber(settings.pause) end
