// Creates a user and monitors in Uptime Kuma's database: FILE ADDRESS COUNT.
const [file, address, count] = process.argv.slice(1);
const sqlite = require("@louislam/sqlite3");
const table = new sqlite.Database(file);
table.serialize(() => {
    table.run("INSERT INTO user (username, password, active) VALUES ('bench', 'none', 1)");
    table.run("BEGIN");
    const monitor = table.prepare(
        "INSERT INTO monitor (name, active, user_id, interval, url, type, retry_interval, timeout) " +
            "VALUES (?, 1, 1, 20, ?, 'http', 20, 16)",
    );
    for (let number = 0; number < Number(count); number++) {
        monitor.run(`monitor ${number}`, `${address}/answer/${number}`);
    }
    monitor.finalize();
    table.run("COMMIT");
});
table.close();
