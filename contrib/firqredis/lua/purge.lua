-- Own ARGV: ids. Reply: how many dead letters are gone.
local n = 0
for k = 7, #ARGV do
  if call('ZSCORE', X, ARGV[k]) and remove(ARGV[k]) then n = n + 1 end
end
count('purged', n); finish()
return n
