using System.Globalization;

namespace Tidemark.Tests.Silos;

/// The table of the members of a cluster, which decides who belongs to it.
public sealed class Membership
{
    [Fact]
    public async Task A_silo_that_leaves_is_dead_and_comes_back_as_another_one_at_its_port()
    {
        await using var cluster = new Cluster();
        var port = Ports.Next();
        await cluster.Start("stays");
        var leaves = await cluster.Start("leaves", port);
        Assert.Equal("leaves:Active stays:Active", await cluster.States());
        var version = await cluster.Version();

        await cluster.Stop(leaves);
        Assert.Equal("leaves:Dead stays:Active", await cluster.States());
        Assert.True(await cluster.Version() > version);

        await cluster.Start("leaves", port);
        Assert.Equal("leaves:Active leaves:Dead stays:Active", await cluster.States());
        var rows = await cluster.Rows();
        Assert.Equal(2, rows.Count(row => row.GetString("Port") == port.ToString(CultureInfo.InvariantCulture)));
        Assert.Equal("Active", rows[^1].GetString("Status"));
    }

    [Fact]
    public async Task Silos_that_join_at_once_all_become_members_and_each_change_has_its_version()
    {
        await using var cluster = new Cluster();
        await Task.WhenAll(Enumerable.Range(1, 3).Select(number => cluster.Start($"s{number}")));
        Assert.Equal("s1:Active s2:Active s3:Active", await cluster.States());
        // Each of them wrote "joining" and "active".
        Assert.Equal(6, await cluster.Version());
    }

    [Fact]
    public async Task A_silo_that_is_killed_is_voted_out_and_its_grains_and_reminders_live_on_elsewhere()
    {
        await using var cluster = new Cluster();
        var port = Ports.Next();
        var grains = (await cluster.Start("lives")).Grains();
        var killed = await cluster.StartProcess("killed", port);
        // Some of them are on the silo that will be killed.
        var keys = Enumerable.Range(1, 10).Select(number => $"{cluster.Id}-{number}").ToArray();
        await Task.WhenAll(keys.Select(key => grains.GetGrain<INoteInTable>(key).Write("before")));
        await Task.WhenAll(keys.Select(key => grains.GetGrain<IBell>(key).Wind("tick", TimeSpan.FromSeconds(1))));

        killed.Kill();
        await cluster.Become("killed:Dead lives:Active");
        Assert.NotEqual("", (await cluster.Rows()).Single(row => row.GetString("SiloName") == "killed").GetString("SuspectingSilos"));
        foreach (var key in keys)
        {
            Assert.Equal("before", (await Repeated.UntilAnswered(grains.GetGrain<INoteInTable>(key).Read)).Text);
            var bell = grains.GetGrain<IBell>(key);
            await Eventually.Holds(async () => await Repeated.UntilAnswered(() => bell.Rings("tick")) > 0, $"{key} rings");
        }

        await cluster.Start("killed", port);
        await cluster.Become("killed:Active killed:Dead lives:Active");
    }
}
