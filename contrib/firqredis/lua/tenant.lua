-- Own ARGV: tenant, then fields and values of its hash; '' takes a field away. pz: '1' paused; w, im, qm, rl: settings.
local t = tenant(ARGV[7])
for k = 8, #ARGV, 2 do
  if ARGV[k+1] == '' then call('HDEL', t.key, ARGV[k]) else call('HSET', t.key, ARGV[k], ARGV[k+1]) end
end
local h = call('HMGET', t.key, 'w', 'wd', 'im', 'qm', 'pz', 'rl')
t.w, t.im, t.pz = num(h[1] or h[2] or 1), num(h[3] or dim), h[5]
t.keep = (h[1] or h[3] or h[4] or h[5] == '1' or h[6]) and '1'
if h[6] then call('HSET', M, 'rl', 1) end           -- pop looks for tenants' own rates only where there has been one
if h[5] ~= 'r' then call('ZREM', P..':h', t.name) end -- it is paused, or was resumed while its rate held it back
if t.keep then call('HSET', t.key, 'k', 1); call('PERSIST', t.key) else call('HDEL', t.key, 'k') end
place(t); finish()
return 1
